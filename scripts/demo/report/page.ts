/** demo-report.html: one file that needs nothing else, in light and dark. Pure. */
import { type ServiceResult, type Verdict } from "../statistics.ts";
import { type Remark, secondsText } from "../view/state.ts";
import { type ChartData, chartSvg, escapeXml } from "./chart.ts";

export interface ReportData {
  /** When the run ended, in words. */
  readonly date: string;
  readonly services: readonly ServiceResult[];
  readonly charts: readonly ChartData[];
  readonly verdict: Verdict;
  /** What a refused request was told; undefined = none was refused. */
  readonly refusal: string | undefined;
  readonly remarks: readonly Remark[];
}

const styleSheet = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5c6877; --paper: #ffffff; --panel: #f5f7f9; --rule: #dde2e8;
  --with: #0b6bcb; --without: #d1453b; --floor: #6b7685; --good: #16794a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaef; --soft: #9aa6b4; --paper: #14181e; --panel: #1c222a;
  --rule: #303945; --with: #5cb0ff; --without: #ff7b6e; --floor: #aab4c0; --good: #57c98a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { margin: 0 0 .25rem; font-size: 1.7rem; line-height: 1.25; } h2 { margin: 2.2rem 0 .4rem; font-size: 1.15rem; }
p { margin: .4rem 0; max-width: 46rem; } .soft, footer { color: var(--soft); }
.verdict { margin: 1.2rem 0; padding: .7rem 1rem; border-left: 4px solid var(--good); background: var(--panel); }
.verdict p { margin: 0; } .verdict.broken { border-color: var(--without); }
/* On a narrow screen a chart begins scrolled to its right end, where the disaster is. */
figure .scroll { direction: rtl; } figure svg { direction: ltr; min-width: 42rem; }
figure { margin: 1.1rem 0 0; } figcaption { font-weight: 600; }
figcaption span { font-weight: 400; color: var(--soft); }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
.band0 { fill: var(--panel); } .band1 { fill: var(--rule); opacity: .55; } .act, .tick { fill: var(--soft); }
.grid { stroke: var(--rule); } .floorline { stroke: var(--floor); stroke-width: 1.5; stroke-dasharray: 6 4; }
.mark { stroke: var(--soft); stroke-dasharray: 2 3; } .marktext { fill: var(--soft); }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; } 
.line.with { stroke: var(--with); } .line.without { stroke: var(--without); }
.label { font-weight: 600; } .label.with { fill: var(--with); } .label.without { fill: var(--without); }
.label.floor { fill: var(--floor); }
.scroll { overflow-x: auto; }
blockquote { margin: .6rem 0; max-width: 46rem; padding: .7rem 1rem; background: var(--panel);
  overflow-wrap: anywhere; }
table { border-collapse: collapse; margin-top: .5rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th { color: var(--soft); font-weight: 500; font-size: .9rem; }
td.with { color: var(--with); font-weight: 600; } td.without { color: var(--without); font-weight: 600; }
ol { padding: 0; list-style: none; } ol li { display: flex; gap: 1rem; }
ol time { min-width: 4rem; text-align: right; color: var(--soft); font-variant-numeric: tabular-nums; }
`;

function tableOf(services: readonly ServiceResult[]): string {
  const rows = services.map(({ name, replicas, floor, lowestWith, lowestWithout, deletions }) => {
    const { tried, admitted, refused, unanswered } = deletions;
    const counts = [tried, admitted, refused, unanswered].map((value) => `<td>${value}</td>`).join("");
    const lowest = `<td class="with">${lowestWith}</td><td class="without">${lowestWithout}</td>`;
    return `<tr><td>${escapeXml(name)}</td><td>${replicas}</td><td>${floor}</td>${lowest}${counts}</tr>`;
  });
  const heads = [
    "service",
    "pods",
    "floor",
    "lowest with",
    "lowest without",
    "tried",
    "admitted",
    "refused",
    "no answer",
  ];
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function verdictBox({ verdict: { exitCode, sentences } }: ReportData): string {
  const tone = exitCode === 0 ? "verdict" : "verdict broken";
  return `<div class="${tone}">${sentences.map((text) => `<p>${escapeXml(text)}</p>`).join("")}</div>`;
}

function refusalBox({ refusal }: ReportData): string {
  if (refusal === undefined) return "";
  return `<h2>What the runaway controller was told</h2>\n<blockquote>${escapeXml(refusal)}</blockquote>`;
}

/** The whole page. */
export function reportPage(data: ReportData): string {
  const charts = data.charts.map(
    (chart) =>
      `<figure><figcaption>${escapeXml(chart.service)} <span>available pods over all clusters, ` +
      `${chart.replicas} replicas</span></figcaption><div class="scroll">${chartSvg(chart)}</div></figure>`,
  );
  const remarks = data.remarks.map(
    ({ atMs, text }) => `<li><time>${secondsText(atMs)} s</time><span>${escapeXml(text)}</span></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Podseidon demo</title>
<style>${styleSheet}</style>
</head>
<body>
<main>
<h1>A fleet that keeps its floor</h1>
<p class="soft">Three services, spread over three worker clusters. Podseidon counts their pods over all clusters and
refuses each deletion that would take a service under its floor.</p>
${verdictBox(data)}
${charts.join("\n")}
<p class="soft">The red line is a second run of the same disaster, in which no webhook is configured. It is drawn so
that both disasters begin at the same moment.</p>
<h2>In figures</h2>
${tableOf(data.services)}
<p class="soft">Lowest: available pods (ready and not being deleted) after every single change of a pod. With Podseidon
that covers the whole run, without it the disaster and the seconds before. Deletions are the requests of the runaway
controller while Podseidon was on; it tries again what was refused. No answer: the webhook replica was killed before it
could answer, and the API server refused.</p>
${refusalBox(data)}
<h2>What happened</h2>
<ol>${remarks.join("")}</ol>
<footer><p>Measured by <code>make demo</code>, ${escapeXml(data.date)}.</p></footer>
</main>
</body>
</html>
`;
}
