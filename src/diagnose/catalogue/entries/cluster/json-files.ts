/** What is wrong with the text of a configuration file before anybody reads its fields. */
import { prose } from "../../prose.ts";
import { ALL, CNI_SPEC, type EntryTable, reference, thread } from "../entry-text.ts";

type JsonFileCode =
  | "json-no-break-space"
  | "json-byte-order-mark"
  | "json-comment"
  | "json-trailing-comma"
  | "json-duplicate-key"
  | "json-invalid"
  | "placeholder-left"
  | "path-with-control-character";

const JSON_SPECIFICATION = { text: "RFC 8259: JSON", url: "https://www.rfc-editor.org/rfc/rfc8259" };

/** Every strict reader says where it stopped. */
const CONVERT = prose`
  PowerShell 7 names the place, and containerd's log the file:

      Get-Content -Raw C:\etc\cni\net.d\10-flannel.conf | ConvertFrom-Json
      Get-Content C:\containerd\containerd.log | Select-String 'cni config'`;

export const JSON_FILE_ENTRIES: EntryTable<JsonFileCode> = {
  "json-no-break-space": {
    title: "A JSON file is indented with no-break spaces",
    cause: prose`
      Text that is copied from a web page or a document often brings no-break spaces (U+00A0) where spaces are seen.
      JSON allows four space characters and this is none of them, so strict readers stop at the first one. Published
      example files have the fault, too: they look right in every editor.`,
    onNode: prose`
      Shows the lines that hold one:

          Select-String -Pattern ([char]0xA0) C:\etc\cni\net.d\*.conf*`,
    remedy: prose`
      Replace them, and write the file without a byte order mark:

          $text = (Get-Content -Raw $file).Replace([char]0xA0, ' ')
          [IO.File]::WriteAllText($file, $text)`,
    sources: [
      JSON_SPECIFICATION,
      {
        text: "microsoft/windows-container-networking: example/flannel_overlay.conf",
        url: "https://github.com/microsoft/windows-container-networking/blob/master/example/flannel_overlay.conf",
      },
      reference("users.md §1 G12"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "json-byte-order-mark": {
    title: "A JSON file begins with a byte order mark, or is written in UTF-16",
    cause: prose`
      Windows PowerShell 5 writes UTF-16 with > and Out-File, and a mark at the beginning with -Encoding UTF8. The
      programs that read CNI configurations and net-conf.json are written in Go, whose JSON reader takes UTF-8
      without a mark only: the first character is wrong already.`,
    onNode: prose`
      The mark is EF BB BF, or FF FE for UTF-16:

          Format-Hex C:\etc\cni\net.d\10-flannel.conf | Select-Object -First 1`,
    remedy: prose`
      Write the file without a mark:

          [IO.File]::WriteAllText($file, (Get-Content -Raw $file))`,
    sources: [JSON_SPECIFICATION, reference("cni.md §1.4, §10.2")],
    profiles: ALL,
    severity: "error",
  },

  "json-comment": {
    title: "A comment is in a file that is read as strict JSON",
    cause: prose`
      JSON has no comments. Editors colour them and some libraries read past them, but the CNI library and flanneld
      do not: the whole file counts as broken, and no pod gets a network.`,
    onNode: CONVERT,
    remedy: prose`
      Remove the comment. The text can be in a field that no program reads, such as "description", or in
      a file beside it.`,
    sources: [JSON_SPECIFICATION, reference("users.md §1 G12")],
    profiles: ALL,
    severity: "error",
  },

  "json-trailing-comma": {
    title: "A comma after the last value of a list or object",
    cause: prose`
      JSON separates values by commas and allows none behind the last. It happens when the last entry of a list of
      policies is deleted. Strict readers refuse the whole file.`,
    onNode: CONVERT,
    remedy: prose`
      Take the comma out at the place that the message names.`,
    sources: [JSON_SPECIFICATION, reference("users.md §1 G12")],
    profiles: ALL,
    severity: "error",
  },

  "json-duplicate-key": {
    title: "A field is given twice in one JSON object",
    cause: prose`
      JSON leaves open what that means; the reader of Go takes the last one and says nothing. So half of what the
      file seems to say is not there, for example the first of two lists of policies.`,
    onNode: prose`
      PowerShell refuses such a file and names the field:

          Get-Content -Raw C:\etc\cni\net.d\10-flannel.conf | ConvertFrom-Json`,
    remedy: prose`
      Keep one of them, or join both lists into one.`,
    sources: [JSON_SPECIFICATION, reference("cni.md, fact 1")],
    profiles: ALL,
    severity: "warning",
  },

  "json-invalid": {
    title: "A configuration file is not valid JSON",
    cause: prose`
      The text breaks a rule of JSON at the place that the message names: a comma or bracket is missing, a text in
      quotes is not closed, or a backslash is before a letter that it does not go with, as in C:\k. The program
      that the file is for refuses the whole of it.`,
    onNode: CONVERT,
    remedy: prose`
      Go to the place, and look at the line before it, too. In paths write each backslash twice, or use slashes.`,
    sources: [JSON_SPECIFICATION, CNI_SPEC, reference("users.md §1 G12")],
    profiles: ALL,
    severity: "error",
  },

  "placeholder-left": {
    title: "A placeholder was left in a configuration file",
    cause: prose`
      The file comes from a template in which an installer, or a person, writes the values of the node: ranges,
      addresses, names. This one has not been written. Some programs do not notice: the CNI plugin makes an endpoint
      with a policy that HNS cannot use, reports success, and the pod fails later with "attach namespace failed".`,
    onNode: prose`
      An endpoint with a broken policy is degraded:

          Get-HnsEndpoint | Select-Object Name, IPAddress, State, Policies
          Select-String '__|<|{{' C:\etc\cni\net.d\*.conf*`,
    remedy: prose`
      Write the value of this cluster, then delete the pods whose endpoints were made with the placeholder.`,
    sources: [thread("containerd/containerd", 5729), reference("users.md §1 G12"), reference("cni.md §9.A")],
    profiles: ALL,
    severity: "warning",
  },

  "path-with-control-character": {
    title: "A Windows path in JSON has single backslashes",
    cause: prose`
      In JSON a backslash begins an escape: \r is a carriage return, \f a form feed, \n a new line, \t a tab. A path
      such as C:\run\flannel is therefore valid JSON and another path: it holds two control characters, and no such
      file exists.`,
    onNode: prose`
      The program complains about a file that is there, with odd gaps in its name:

          Get-Content C:\containerd\containerd.log | Select-String 'cannot find the'`,
    remedy: prose`
      Write each backslash twice, or use slashes, which Windows takes as well:

          "subnetFile": "C:/run/flannel/subnet.env"`,
    sources: [JSON_SPECIFICATION, reference("cni.md §3.1")],
    profiles: ALL,
    severity: "error",
  },
};
