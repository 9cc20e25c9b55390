import { describe, expect, test } from "vitest";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { withBudget } from "#kit/snapshots/cluster.ts";
import { NEWER } from "#kit/snapshots/cluster-rolling.ts";
import { asking } from "#kit/snapshots/cluster-steps.ts";
import { bundle, OWN, secured, THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";
import { ChangeRun } from "#kit/sweeps/tls-change.ts";

// Users' certificates have the names of the existing members, and more members are wanted.

/** The names of the initial members. */
const hosts = (count: number) => Array.from({ length: count }, (_, ordinal) => `my-etcd-${ordinal}.my-etcd.foo.svc`);
const from = (secretName: string) => ({ peer: { provider: "Secret", secret: { name: secretName } } });

/** This many members, with a certificate for these names. */
function made(have: number): ClusterSnapshot {
  const given = withBudget(secured({ replicas: have }, from("first")));
  return withMade(given, { peer: { isOurs: false, by: OWN, names: hosts(have) } });
}

/** Three members are wanted. */
function growing(have: number): ChangeRun {
  return new ChangeRun(asking(made(have), { replicas: 3 }));
}

/** The steps of growing from this many members to three. */
function arrivals(have: number): readonly string[] {
  return hosts(3 - have).flatMap(() => ["createPeer", "addLearner", "roll", "promote"]);
}

describe.each([1, 2])("growth from %i members to three", (have) => {
  test.each([
    { of: "the same authority", by: OWN, more: [] },
    { of: "another authority", by: THEIRS, more: ["roll"] },
  ])("a certificate Secret from $of is rolled out before the members join that need it", ({ by, more }) => {
    const change = growing(have);
    change.ask(from("second"));
    change.bring(["peer"], { by, names: hosts(3) });
    expect(change.run()).toEqual(["roll", ...arrivals(have), ...more]);
    expect(change.shown).toMatchObject({ peer: "second", trusted: [1, 1] });
    expect(change.snapshot.peers).toHaveLength(3);
  });

  test("a new CA is trusted before its certificates are rolled out and the new members join", () => {
    const change = growing(have);
    const trust = bundle(OWN, THEIRS);
    change.bring(["peer"], { by: OWN, trust, names: hosts(have) });
    expect(change.run()).toEqual(["roll"]);
    expect(change.restarts).toBe(have);
    expect(change.snapshot.peers).toHaveLength(have);
    change.bring(["peer"], { by: THEIRS, trust, names: hosts(3) });
    expect(change.run()).toEqual(["roll", ...arrivals(have)]);
    expect(change.restarts).toBe(have);
  });

  test("a version change waits until the new members have joined", () => {
    const edited = begin(made(have)).apply(asking, { replicas: 3, version: NEWER.version }).apply(withBudget).snapshot;
    expect(planCluster(edited)).toMatchObject({ next: "wait", rule: "restart-keeps-quorum" });
  });
});
