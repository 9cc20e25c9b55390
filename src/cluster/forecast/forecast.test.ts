import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { timesOf } from "#cluster/observe/spec-times.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { DAY_MS } from "#kit/snapshots/certificates.ts";
import { cluster, NOW, sickFor } from "#kit/snapshots/cluster.ts";
import { NEWER, wanting, withCanary } from "#kit/snapshots/cluster-rolling.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { forecast } from "./forecast.ts";
import { planStatus } from "./plan-status.ts";

// Longer forecasts: test/unit/forecast.test.ts. Here are short ones.

const ONE = { replicas: 1 };

describe("forecast", () => {
  test("lists the steps that restart the only member", () => {
    const { steps, ...end } = forecast(wanting(NEWER, ONE));
    expect(end).toEqual({ outcome: "Done", message: "there is nothing more to do then", restarts: ["my-etcd-0"] });
    expect(steps?.map(({ rule, step, member }) => [rule, step, member])).toEqual([
      ["UpdateMember", "ReplacePeer", "my-etcd-0"],
      ["RestartMember", "RestartPod", "my-etcd-0"],
    ]);
  });

  test("names no member for a step that concerns none", () => {
    const { steps } = forecast(wanting(NEWER));
    expect(steps?.[1]).toMatchObject({ rule: "DisruptionBudget", step: "ReplaceBudget" });
    expect(steps?.[1]).not.toHaveProperty("member");
  });

  test("ends as Unforeseen after the given number of steps", () => {
    expect(forecast(wanting(NEWER), 2)).toMatchObject({
      outcome: "Unforeseen",
      message: "no end after 2 steps",
      steps: [{ step: "ReplacePeer" }, { step: "ReplaceBudget" }],
    });
    expect(forecast(wanting(NEWER), 4).steps).toHaveLength(4);
  });

  test("is Done without steps when there is nothing to do", () => {
    expect(forecast(cluster(ONE))).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("is Refused for a refused edit, but not when another edit is accepted", () => {
    const refused = [{ rule: "NoVersionPath", message: expect.stringMatching(/^spec\.version is refused/) }];
    const alone = forecast(cluster({ ...ONE, spec: { version: "3.4.35" } }));
    expect(alone).toEqual({
      outcome: "Refused",
      message: "the change would be refused, and none of these steps would be done",
      refused,
    });
    const beside = forecast(cluster({ ...ONE, spec: { version: "3.4.35", disruptionBudget: { policy: "None" } } }));
    expect(beside).toMatchObject({ outcome: "Done", refused, steps: [{ step: "DeleteBudget" }] });
  });

  test("is not Refused when the plan has only a notice", () => {
    const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
    const brought = {
      peer: { provider: "Secret", secret: { name: "their-peer" } },
      client: { provider: "Secret", secret },
    };
    const ending = { ...secured(ONE, brought, { isOurs: false }), takenAtMs: NOW + 70 * DAY_MS };
    expect(forecast(ending)).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("is Waits during a pause and while the cluster forms", () => {
    expect(forecast(cluster({ ...ONE, spec: { paused: true } }))).toEqual({
      outcome: "Waits",
      message: "Paused: nothing is changed while spec.paused is true",
    });
    expect(forecast(cluster({ ...ONE, stage: "new" })).outcome).toBe("Waits");
  });

  test("names the previous leader as the member of a leader transfer", () => {
    const { steps } = forecast(cluster({ replicas: 2, leader: "my-etcd-1", spec: { replicas: 1 } }));
    expect(steps?.find(({ step }) => step === "MoveLeader")?.member).toBe("my-etcd-1");
    expect(steps?.find(({ step }) => step === "RemoveMember")?.member).toBe("my-etcd-1");
  });

  test("is Unforeseen when an update is about to stop", () => {
    const tried = begin(wanting(NEWER)).apply(withCanary, "my-etcd-2").apply(sickFor, "my-etcd-2", 600_000).snapshot;
    expect(forecast(tried)).toMatchObject({
      outcome: "Unforeseen",
      message:
        "no forecast of the effect of stopUpdate: a member has not started, and the forecast assumes that nothing fails",
      steps: [{ rule: "StopUpdate", member: "my-etcd-2" }],
    });
  });
});

describe("status.dryRun", () => {
  const asking = (text: string, given = {}) =>
    cluster({ ...ONE, ...given, annotations: { [DRY_RUN_ANNOTATION]: text } });

  test("is the forecast of the edit in the annotation, and absent without the annotation", () => {
    expect(planStatus(cluster(ONE))).toBeUndefined();
    expect(planStatus(asking("{}", { deleting: true }))).toBeUndefined();
    expect(planStatus(asking('{"version":"3.6.17"}'))).toEqual({
      edit: '{"version":"3.6.17"}',
      ...forecast(wanting(NEWER, ONE)),
    });
  });

  test("ends at a step that issues a certificate", () => {
    const { tls } = secured(ONE).cluster.spec;
    const client = { ...tls?.client, extraNames: ["etcd.example.com"] };
    const edit = JSON.stringify({ tls: { ...tls, client } });
    const given = secured({ ...ONE, annotations: { [DRY_RUN_ANNOTATION]: edit } });
    expect(planStatus(given)).toEqual({
      edit,
      outcome: "Unforeseen",
      message: "no forecast of the effect of issueLeaf: what will be issued is not known in advance",
      steps: [{ rule: "IssueCertificate", step: "IssueLeaf", message: expect.any(String) }],
    });
  });

  test("is not computed when spec and edit together exceed 32,000 characters", () => {
    const of = (more: number) => {
      const given = asking("{}");
      const { spec } = given.cluster;
      const podTemplate = { metadata: { annotations: { a: "" } } };
      const least = JSON.stringify({ ...spec, podTemplate }).length + 2;
      const annotations = { a: "x".repeat(32_000 - least + more) };
      const large = { ...spec, podTemplate: { metadata: { annotations } } };
      return planStatus({ ...given, cluster: { ...given.cluster, spec: large } });
    };
    expect(of(0)?.outcome).toBe("Done");
    expect(of(1)).toEqual({
      edit: "{}",
      outcome: "Unforeseen",
      message: "spec and the edit have 32001 characters together as JSON; there is no forecast with more than 32000",
    });
    const long = planStatus(asking(`{"paused":${" ".repeat(32_000)}true}`));
    expect(long).toMatchObject({ outcome: "Unforeseen", edit: `{"paused":${" ".repeat(990)}` });
  });

  test("is Refused for an invalid edit and repeats its first 1,000 characters", () => {
    const plan = planStatus(asking("x".repeat(1_001)));
    expect(plan).toEqual({ edit: "x".repeat(1_000), outcome: "Refused", message: expect.any(String) });
    expect(plan?.message).toMatch(/^metadata\.annotations\[etcd\.improbable\.io\/dry-run\]: it is "x/);
  });
});

test("timesOf: valid times in the spec override the operator's defaults", () => {
  const spec = cluster().cluster.spec;
  const told = { replaceAfterMs: 7, memberTimeoutMs: 8 };
  const of = (says: Partial<typeof spec>) => timesOf({ ...spec, ...says }, told);
  const after = (value: string) => of({ replacement: { policy: "WhenLost", after: value } }).replaceAfterMs;
  expect([of({}), of({ replacement: { policy: "WhenLost" } })]).toEqual([told, told]);
  expect([after("1m"), after("soon")]).toEqual([60_000, 7]);
  expect(of({ replacement: { policy: "Never" } }).replaceAfterMs).toBe(Number.POSITIVE_INFINITY);
  const timeout = of({ updateStrategy: { type: "RollingUpdate", memberTimeout: "1m" } });
  expect(timeout).toEqual({ ...told, memberTimeoutMs: 60_000 });
});
