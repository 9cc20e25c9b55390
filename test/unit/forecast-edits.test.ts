import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { merged } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterSpec, PlanStatus } from "#api/v1beta1/cluster.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import { timesOf } from "#cluster/observe/spec-times.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster, sickFor } from "#kit/snapshots/cluster.ts";
import { withCrashing, withoutPod } from "#kit/snapshots/cluster-rolling.ts";
import { eventName } from "#runtime/event-name.ts";

test("status.dryRun: every edit gets an outcome and a message", () => {
  const fields = [
    "replicas",
    "version",
    "podTemplate",
    "etcd",
    "image",
    "updateStrategy",
    "clientService",
    "replacement",
  ];
  const words = [
    "metadata",
    "spec",
    "containers",
    "name",
    "etcd",
    "extraArgs",
    "type",
    "after",
    "resources",
    "limits",
    "labels",
  ];
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, 1, 4, "3.7.3", "etcd", "1m", "x", "", true),
      fc.array(tie("value"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 4 }),
    ),
  }));
  const patch = fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 3 });
  let explained = 0;
  fc.assert(
    fc.property(patch, (edit) => {
      const plan = planStatus(cluster({ annotations: { [DRY_RUN_ANNOTATION]: JSON.stringify(edit) } }));
      if (plan?.outcome === "Done") explained++;
      expect(plan?.message).not.toBe("");
    }),
    { numRuns: 100 },
  );
  expect(explained).toBeGreaterThan(10);
});

/** The snapshot with this spec. Times of the spec come before the default times. */
function saying(snapshot: ClusterSnapshot, spec: EtcdClusterSpec): ClusterSnapshot {
  return { ...snapshot, ...timesOf(spec, snapshot.defaultTimes), cluster: { ...snapshot.cluster, spec } };
}

function foretold(snapshot: ClusterSnapshot, edit: object): PlanStatus | undefined {
  const metadata = { ...snapshot.cluster.metadata, annotations: { [DRY_RUN_ANNOTATION]: JSON.stringify(edit) } };
  return planStatus({ ...snapshot, cluster: { ...snapshot.cluster, metadata } });
}

function edited(snapshot: ClusterSnapshot, edit: object): ClusterSnapshot {
  return saying(snapshot, merged(snapshot.cluster.spec, edit) as EtcdClusterSpec);
}

/** A cluster with this spec and with its last member lost for so long. */
function losing(ms: number, spec: Partial<EtcdClusterSpec> = {}): ClusterSnapshot {
  const down = sickFor(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", ms);
  return saying(down, { ...down.cluster.spec, ...spec });
}

const NEVER: Partial<EtcdClusterSpec> = { replacement: { policy: "Never" } };
const IN_A_MINUTE: Partial<EtcdClusterSpec> = { updateStrategy: { type: "RollingUpdate", memberTimeout: "1m" } };

describe("status.dryRun: an edit has the same forecast as the edited spec:", () => {
  const crashing = (snapshot: ClusterSnapshot) => withCrashing(snapshot, "my-etcd-2");
  const cases: readonly {
    readonly name: string;
    readonly given: ClusterSnapshot;
    readonly edit: object;
    readonly next: string;
  }[] = [
    {
      name: "removing `replacement: {policy: Never}` restores the default time",
      given: crashing(losing(400_000, NEVER)),
      edit: { replacement: null },
      next: "replace-lost",
    },
    {
      name: "removing `policy: Never` from replacement restores the default time",
      given: crashing(losing(400_000, NEVER)),
      edit: { replacement: { policy: null } },
      next: "replace-lost",
    },
    {
      name: "removing a replacement time that has passed restores the default time, which has not passed",
      given: crashing(losing(200_000, { replacement: { policy: "WhenLost", after: "1m" } })),
      edit: { replacement: null },
      next: "await-health",
    },
    {
      name: "a silent member is replaced when it has been lost for longer than the edited time",
      given: losing(120_000),
      edit: { replacement: { policy: "WhenLost", after: "1m" } },
      next: "replace-lost",
    },
    {
      name: "a member without a pod is replaced when it has been lost for longer than the edited time",
      given: withoutPod(losing(120_000), "my-etcd-2"),
      edit: { replacement: { policy: "WhenLost", after: "1m" } },
      next: "replace-lost",
    },
    {
      name: "removing `replacement: {policy: Never}` lets the operator replace a silent member without a pod",
      given: withoutPod(losing(400_000, NEVER), "my-etcd-2"),
      edit: { replacement: null },
      next: "replace-lost",
    },
    {
      name: "a lost member is replaced before members are added",
      given: losing(400_000),
      edit: { replicas: 5 },
      next: "replace-lost",
    },
    {
      name: "a lost member is replaced whatever memberTimeout is",
      given: losing(400_000, IN_A_MINUTE),
      edit: { updateStrategy: { memberTimeout: null } },
      next: "replace-lost",
    },
  ];
  test.each(cases)("$name", ({ given, edit, next }) => {
    const real = edited(given, edit);
    const plan = foretold(given, edit);
    expect(planCluster(real)).toMatchObject({ rule: next });
    expect(plan).toMatchObject(forecast(real));
    const told = plan?.steps?.[0]?.rule ?? plan?.message;
    expect(told).toMatch(new RegExp(`^${eventName(next)}`));
  });

  test("removing memberTimeout restores the default time", () => {
    const given = losing(120_000, { ...NEVER, ...IN_A_MINUTE });
    expect(foretold(given, {})?.outcome).toBe("Waits");
    expect(foretold(given, { updateStrategy: { memberTimeout: null } })?.outcome).toBe("Done");
    expect(foretold(given, { updateStrategy: null })?.outcome).toBe("Done");
  });
});
