import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import { timesOf } from "#cluster/spec-times.ts";
import { DAY_MS } from "#kit/certificates.ts";
import { cluster, NOW, sickFor } from "#kit/cluster.ts";
import { NEWER, wanting, withCanary } from "#kit/cluster-rolling.ts";
import { secured } from "#kit/cluster-tls.ts";

// Longer ways: test/unit/forecast.test.ts. Here stands what is soon foretold.

const ONE = { replicas: 1 };

describe("forecast", () => {
  test("of the only member's restart", () => {
    const { steps, ...end } = forecast(wanting(NEWER, ONE));
    expect(end).toEqual({ outcome: "Done", message: "there is nothing more to do then", restarts: ["my-etcd-0"] });
    expect(steps?.map(({ rule, step, member }) => [rule, step, member])).toEqual([
      ["give-turn", "replacePeer", "my-etcd-0"],
      ["disruption-budget", "replaceBudget", undefined],
      ["restart-member", "restartPod", "my-etcd-0"],
      ["disruption-budget", "replaceBudget", undefined],
    ]);
    expect(steps?.[1]).not.toHaveProperty("member");
  });

  test("of so many steps and no more", () => {
    expect(forecast(wanting(NEWER, ONE), 2)).toMatchObject({
      outcome: "Unforeseen",
      message: "no end in sight after 2 steps",
      steps: [{ step: "replacePeer" }, { step: "replaceBudget" }],
    });
    expect(forecast(wanting(NEWER, ONE), 4).steps).toHaveLength(4);
  });

  test("of nothing", () => {
    expect(forecast(cluster(ONE))).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("of what is refused alone, and beside something else", () => {
    const refused = [{ rule: "no-version-path", message: expect.stringMatching(/^spec\.version is refused/) }];
    const alone = forecast(cluster({ ...ONE, spec: { version: "3.4.35" } }));
    expect(alone).toEqual({ outcome: "Refused", message: "nothing of it would be carried out", refused });
    const beside = forecast(cluster({ ...ONE, spec: { version: "3.4.35", disruptionBudget: "None" } }));
    expect(beside).toMatchObject({ outcome: "Done", refused, steps: [{ step: "deleteBudget" }] });
  });

  test("of what is only told: it is not refused", () => {
    const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
    const brought = {
      peer: { provider: "Secret", secret: { secretName: "their-peer" } },
      client: { provider: "Secret", secret },
    };
    const ending = { ...secured(ONE, brought, { isOurs: false }), takenAtMs: NOW + 70 * DAY_MS };
    expect(forecast(ending)).toEqual({ outcome: "Done", message: "there is nothing more to do then" });
  });

  test("of a pause, and of a cluster that forms", () => {
    expect(forecast(cluster({ ...ONE, spec: { paused: true } }))).toEqual({
      outcome: "Waits",
      message: "paused: nothing is changed while spec.paused is true",
    });
    expect(forecast(cluster({ ...ONE, stage: "new" })).outcome).toBe("Waits");
  });

  test("of a leader that hands over", () => {
    const { steps } = forecast(cluster({ replicas: 2, leader: "my-etcd-1", spec: { replicas: 1 } }));
    expect(steps?.find(({ step }) => step === "moveLeader")?.member).toBe("my-etcd-1");
    expect(steps?.find(({ step }) => step === "removeMember")?.member).toBe("my-etcd-1");
  });

  test("of what nobody can tell: an update that is about to stop", () => {
    const tried = sickFor(withCanary(wanting(NEWER), "my-etcd-2"), "my-etcd-2", 600_000);
    expect(forecast(tried)).toMatchObject({
      outcome: "Unforeseen",
      message:
        "what becomes of stopUpdate cannot be foretold: a member has not come up, and it is foretold how all goes well",
      steps: [{ rule: "stop-update", member: "my-etcd-2" }],
    });
  });
});

describe("status.plan", () => {
  const asking = (text: string, given = {}) =>
    cluster({ ...ONE, ...given, annotations: { [DRY_RUN_ANNOTATION]: text } });

  test("answers what is asked, of the edit and not of the spec", () => {
    expect(planStatus(cluster(ONE))).toBeUndefined();
    expect(planStatus(asking("{}", { deleting: true }))).toBeUndefined();
    expect(planStatus(asking('{"version":"3.6.17"}'))).toEqual({
      edit: '{"version":"3.6.17"}',
      ...forecast(wanting(NEWER, ONE)),
    });
  });

  test("answers so far as it is known: what an edit makes the operator issue nobody knows beforehand", () => {
    const { tls } = secured(ONE).cluster.spec;
    const client = { ...tls?.client, extraNames: ["etcd.example.com"] };
    const edit = JSON.stringify({ tls: { ...tls, client } });
    const given = secured({ ...ONE, annotations: { [DRY_RUN_ANNOTATION]: edit } });
    expect(planStatus(given)).toEqual({
      edit,
      outcome: "Unforeseen",
      message: "what becomes of issueLeaf cannot be foretold: nobody knows beforehand what will be issued",
      steps: [{ rule: "leaf", step: "issueLeaf", message: expect.any(String) }],
    });
  });

  test("foretells nothing of what is too much to be gone through again and again", () => {
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
      message: "spec and the edit have 32001 characters together as JSON; with more than 32000 nothing is foretold",
    });
    const long = planStatus(asking(`{"paused":${" ".repeat(32_000)}true}`));
    expect(long).toMatchObject({ outcome: "Unforeseen", edit: `{"paused":${" ".repeat(990)}` });
  });

  test("says what is no edit, and repeats so much of it", () => {
    const plan = planStatus(asking("x".repeat(1_001)));
    expect(plan).toEqual({ edit: "x".repeat(1_000), outcome: "Refused", message: expect.any(String) });
    expect(plan?.message).toMatch(/^metadata\.annotations\[etcd\.improbable\.io\/dry-run\]: it is "x/);
  });
});

test("what a cluster says of its times counts before what the operator was told", () => {
  const spec = cluster().cluster.spec;
  const told = { replaceAfterMs: 7, memberTimeoutMs: 8 };
  const of = (says: Partial<typeof spec>) => timesOf({ ...spec, ...says }, told);
  const after = (value: string) => of({ replacement: { after: value } }).replaceAfterMs;
  expect([of({}), of({ replacement: {} })]).toEqual([told, told]);
  expect([after("1m"), after("Never"), after("soon")]).toEqual([60_000, Number.POSITIVE_INFINITY, 7]);
  const timeout = of({ updateStrategy: { type: "RollingUpdate", memberTimeout: "1m" } });
  expect(timeout).toEqual({ ...told, memberTimeoutMs: 60_000 });
});
