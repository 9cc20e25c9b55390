import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { mainBinary } from "#dev/components.ts";
import { ALERT_CASES } from "#kit/tables/alert-cases.ts";
import type { AlertCase } from "#kit/tables/alert-series.ts";
import type { Alert } from "../../scripts/monitoring/alert.ts";
import { ALERTS, ruleGroups } from "../../scripts/monitoring/rules.ts";

// Prometheus' own promtool judges every alert: syntax and templates, and with which series it fires.

const PROMTOOL = join(dirname(mainBinary("prometheus")), "promtool");
const run = promisify(execFile);
const all = Object.values(ALERTS).flat();
const keyOf = ({ name, severity }: Pick<Alert, "name" | "severity">) => `${name} (${severity})`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "alerts-"));
  await writeFile(join(folder, "alerts.yaml"), stringify({ groups: ruleGroups() }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The severity of the case's alert. @throws Error when the case does not name one, and there are several */
function severityOf({ alert, severity }: AlertCase): Alert["severity"] {
  const known = all.filter(({ name }) => name === alert).map((each) => each.severity);
  if (severity !== undefined && known.includes(severity)) return severity;
  const [only] = known;
  if (severity !== undefined || known.length !== 1 || only === undefined)
    throw new Error(`${alert} has the severities ${known}.`);
  return only;
}

function testOf(of: AlertCase, series: AlertCase["fires"], labels: readonly string[]) {
  const labelled = `alertname="${of.alert}",alertstate="firing",severity="${severityOf(of)}"`;
  const samples = labels.map((each) => ({ labels: `ALERTS{${labelled}${each === "" ? "" : `,${each}`}}`, value: 1 }));
  return {
    name: `${of.alert} ${labels.length > 0 ? "fires" : "is quiet"}`,
    interval: "1m",
    input_series: series.map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr: `ALERTS{${labelled}}`, eval_time: `${of.atMinute ?? 60}m`, exp_samples: samples }],
  };
}

async function promtool(...args: readonly string[]): Promise<string> {
  return await run(PROMTOOL, [...args], { cwd: folder }).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `FAILED\n${stdout}${stderr}`,
  );
}

test("promtool finds no fault in the rules", async () => {
  expect(await promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml")).toMatch(
    new RegExp(`SUCCESS: ${all.length} rules found`),
  );
});

test("every alert has a case in which it fires and one in which it is quiet", () => {
  const cased = ALERT_CASES.map((each) => keyOf({ name: each.alert, severity: severityOf(each) }));
  expect(cased.toSorted()).toEqual(all.map(keyOf).toSorted());
});

// Most of the time of a test is evaluations: over a day one every five minutes is enough.
test.each([
  ["within two hours", "1m", ({ atMinute = 60 }: AlertCase) => atMinute <= 120],
  ["within days", "5m", ({ atMinute = 60 }: AlertCase) => atMinute > 120],
] as const)(
  "every alert that is to fire %s fires and is quiet as its case expects",
  async (_, interval, isMeant) => {
    const cases = ALERT_CASES.filter(isMeant);
    const tests = cases.flatMap((each) => [
      ...[each.fires, ...(each.alsoFires ?? [])].map((series) => testOf(each, series, [each.labels])),
      ...[each.quiet, ...(each.alsoQuiet ?? [])].map((series) => testOf(each, series, [])),
    ]);
    const file = { rule_files: ["alerts.yaml"], evaluation_interval: interval, tests };
    await writeFile(join(folder, "test.yaml"), stringify(file));
    expect(await promtool("test", "rules", "test.yaml")).toMatch(/^\s*SUCCESS/m);
  },
  120_000,
);
