/** The report that stands alone: one document in one file. */
import { type ReportData, shortName, shown } from "./document.ts";
import { render } from "preact";
import { Comparison } from "./comparison.tsx";
import { Doctor } from "./doctor.tsx";
import { Matrix } from "./matrix.tsx";
import { Logo, ThemeButton, applyTheme } from "./parts.tsx";
import { Walk } from "./walk.tsx";

function titleOf(document: ReportData["document"]): string {
  switch (document.kind) {
    case "Verification":
    case "VerificationComparison":
      return `Cluster ${document.cluster}`;
    case "Trace":
      return `${shortName(document.from.reference)} → ${shortName(document.to.reference)}`;
    case "DoctorReport":
      return document.nodes.join(", ");
  }
}

function Body({ document, explanations }: ReportData) {
  switch (document.kind) {
    case "Verification":
      return <Matrix report={document} explanations={explanations} />;
    case "VerificationComparison":
      return <Comparison comparison={document} explanations={explanations} />;
    case "Trace":
      return <Walk report={document} explanations={explanations} />;
    case "DoctorReport":
      return <Doctor report={document} explanations={explanations} />;
  }
}

const KINDS: Readonly<Record<ReportData["document"]["kind"], string>> = {
  Verification: "Verification",
  VerificationComparison: "Comparison",
  Trace: "Packet walk",
  DoctorReport: "Doctor",
};

function Report(data: ReportData) {
  return (
    <>
      <header class="top">
        <Logo />
        <span class="brand">Mullion</span>
        <span class="crumb">{KINDS[data.document.kind]}</span>
        <span class="grow" />
        <ThemeButton />
      </header>
      <main>
        <h1>{titleOf(data.document)}</h1>
        <Body {...data} />
      </main>
      <footer>
        Mullion {data.version}. Nothing here has run on Windows: it shows what a simulated node does.
      </footer>
    </>
  );
}

applyTheme();
const data = shown(JSON.parse(document.querySelector("#data")?.textContent ?? "") as ReportData);
const root = document.querySelector("#root");
if (root !== null) {
  root.textContent = "";
  render(<Report {...data} />, root);
}
