import { expect, test } from "vitest";
import { rfc3339 } from "#base/timestamp.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { Values } from "../fields.ts";
import { type Line, render } from "../lines.ts";
import { bindingScreen } from "./binding.ts";
import { logLines, logScreenLine, mergedByTime } from "./logs.ts";
import { planExitCode, planScreen } from "./plan.ts";
import { schedulesScreen } from "./schedules.ts";

const shown = (lines: readonly Line[]) => render(lines, 120, false);

const step = { rule: "RestartMember", step: "RestartPod", member: "my-etcd-1", message: "my-etcd-1 restarts" };
const plan = {
  outcome: "Done",
  message: "5 members run 3.7.3",
  restarts: ["my-etcd-1", "my-etcd-0"],
  refused: [{ rule: "NoVersionPath", message: "3.8 is not known" }],
  steps: [step, { ...step, member: "my-etcd-0" }],
};

test("plan shows outcome, refusals, restarts and steps", async () => {
  await expect(shown(planScreen(plan))).toMatchFileSnapshot("golden/plan.txt");
});

test.each([
  [{ outcome: "Done" }, 0],
  [plan, 1],
  [{ outcome: "Waits" }, 1],
  [{ outcome: "Refused" }, 2],
  [{ outcome: "Unforeseen" }, 3],
  [{}, 3],
])("exit code of the plan %j", (given, code) => {
  expect(planExitCode(given)).toBe(code);
});

test("schedule shows the last and the next backup", async () => {
  const conditions = [{ type: "Ready", status: "False", reason: "BackupFailed", message: "", lastTransitionTime: "" }];
  const status = {
    nextScheduleTime: rfc3339(NOW + 3_600_000),
    lastSuccessful: { name: "nightly-1", creationTime: rfc3339(NOW - 3_600_000) },
    conditions,
  };
  const schedules = [etcdBackupSchedule({ status: status as never }), etcdBackupSchedule({ name: "new", status: {} })];
  await expect(shown(schedulesScreen(schedules as unknown as Values[], NOW))).toMatchFileSnapshot(
    "golden/schedules.txt",
  );
});

test("binding shows the Secret's name and never its content", async () => {
  const user = etcdUser({
    status: {
      binding: { name: "app-binding" },
      lastRotationTime: rfc3339(NOW - 3_600_000),
      certificate: { notAfter: rfc3339(NOW + 86_400_000 * 9) },
    },
  });
  await expect(shown(bindingScreen(user as unknown as Values, NOW))).toMatchFileSnapshot("golden/binding.txt");
});

test("logs of several members are merged by time, and JSON is made readable", async () => {
  const zero = [
    '2026-01-01T12:00:00.1Z {"level":"warn","ts":"x","caller":"a.go:1","msg":"slow request","took":"1s","more":{"a":[1]}}',
    "a line without a time",
    "2026-01-01T12:00:02Z plain \u001b[31mtext",
  ];
  const one = [
    '2026-01-01T12:00:00.05Z {"level":"info","msg":"ready"}',
    '2026-01-01T12:00:01.123456789Z {"level":"fatal","msg":"gone"}',
  ];
  const lines = mergedByTime([...logLines("my-etcd-0", zero.join("\n")), ...logLines("my-etcd-10", one.join("\n"))]);
  await expect(shown(lines.map((line) => logScreenLine(line, 10)))).toMatchFileSnapshot("golden/logs.txt");
});
