import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { merged } from "#api/dry-run.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterSpec, PlanStatus } from "#api/v1beta1/cluster.ts";
import { forecast } from "#cluster/forecast/forecast.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { timesOf } from "#cluster/spec-times.ts";
import { cluster, sickFor } from "#kit/cluster.ts";
import { withCrashing, withoutPod } from "#kit/cluster-rolling.ts";

test("status.plan: whatever edit is asked for is answered", () => {
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

/** What a snapshot is like in which the spec says this: its own times count before the default ones. */
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

/** A cluster whose spec says this, and whose last member is lost for so long. */
function losing(ms: number, spec: Partial<EtcdClusterSpec> = {}): ClusterSnapshot {
  const down = sickFor(cluster({ down: ["my-etcd-2"] }), "my-etcd-2", ms);
  return saying(down, { ...down.cluster.spec, ...spec });
}

const NEVER: Partial<EtcdClusterSpec> = { replacement: { after: "Never" } };
const IN_A_MINUTE: Partial<EtcdClusterSpec> = { updateStrategy: { type: "RollingUpdate", memberTimeout: "1m" } };

describe("status.plan: what an edit would cause is what the edited spec causes", () => {
  const crashing = (snapshot: ClusterSnapshot) => withCrashing(snapshot, "my-etcd-2");
  const cases: readonly {
    readonly name: string;
    readonly given: ClusterSnapshot;
    readonly edit: object;
    readonly next: string;
  }[] = [
    {
      name: "that nobody is replaced is taken away: the default time counts again",
      given: crashing(losing(400_000, NEVER)),
      edit: { replacement: null },
      next: "replace-lost",
    },
    {
      name: "so it does where only the time is taken away",
      given: crashing(losing(400_000, NEVER)),
      edit: { replacement: { after: null } },
      next: "replace-lost",
    },
    {
      name: "a time that is over is taken away, and the default one is not",
      given: crashing(losing(200_000, { replacement: { after: "1m" } })),
      edit: { replacement: null },
      next: "await-health",
    },
    {
      name: "one that is silent has been lost for longer than it may be by then",
      given: losing(120_000),
      edit: { replacement: { after: "1m" } },
      next: "replace-lost",
    },
    {
      name: "so has one without a pod",
      given: withoutPod(losing(120_000), "my-etcd-2"),
      edit: { replacement: { after: "1m" } },
      next: "replace-lost",
    },
    {
      name: "that nobody is replaced is taken away, and who is silent has no pod",
      given: withoutPod(losing(400_000, NEVER), "my-etcd-2"),
      edit: { replacement: null },
      next: "replace-lost",
    },
    {
      name: "who is given up already is replaced before members are added",
      given: losing(400_000),
      edit: { replicas: 5 },
      next: "replace-lost",
    },
    {
      name: "who is given up already is replaced whatever time it is given to come up",
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
    expect(told).toMatch(new RegExp(`^${next}`));
  });

  test("a time to come up is taken away: the default one counts again", () => {
    const given = losing(120_000, { ...NEVER, ...IN_A_MINUTE });
    expect(foretold(given, {})?.outcome).toBe("Waits");
    expect(foretold(given, { updateStrategy: { memberTimeout: null } })?.outcome).toBe("Done");
    expect(foretold(given, { updateStrategy: null })?.outcome).toBe("Done");
  });
});
