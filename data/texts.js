// In a clone the texts are read from their files; the build puts a module in the place of this one that holds them all
// (tools/bundle-programs.ts), so that an installed program reads one file.
export * from "./read-texts.node.ts";
