/** The executable `nat`. */
import { SdnPlugin } from "../../plugins/sdn/plugin.ts";
import { openWindowsPlugin } from "../cni-plugins/open-windows-plugin.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess((compat) =>
  openWindowsPlugin((options) => new SdnPlugin({ ...options, name: "nat" }), compat),
);
