import { describe, expect, test } from "vitest";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { withBudget } from "#kit/cluster.ts";
import { NEWER } from "#kit/cluster-rolling.ts";
import { asking } from "#kit/cluster-steps.ts";
import { bundle, OWN, secured, THEIRS, withMade } from "#kit/cluster-tls.ts";
import { Course } from "#kit/tls-course.ts";

// Certificates that people bring name the members that there are, and more are asked for.

/** The names of the first members. */
const hosts = (count: number) => Array.from({ length: count }, (_, ordinal) => `my-etcd-${ordinal}.my-etcd.foo.svc`);
const from = (secretName: string) => ({ peer: { provider: "Secret", secret: { secretName } } });

/** There are so many members, and what they show is good for these. */
function made(have: number): ClusterSnapshot {
  const given = withBudget(secured({ replicas: have }, from("first")));
  return withMade(given, { peer: { isOurs: false, by: OWN, names: hosts(have) } });
}

/** Three are wanted. */
function growing(have: number): Course {
  return new Course(asking(made(have), { replicas: 3 }));
}

/** What is done when three come to be of so many. */
function arrivals(have: number): readonly string[] {
  return hosts(3 - have).flatMap(() => ["createPeer", "addLearner", "roll", "promote"]);
}

describe.each([1, 2])("growth, with %i members there", (have) => {
  test.each([
    { of: "the same authority", by: OWN, more: [] },
    { of: "another authority", by: THEIRS, more: ["roll"] },
  ])("another Secret of $of is shown before anybody joins who would not be taken for itself", ({ by, more }) => {
    const course = growing(have);
    course.ask(from("second"));
    course.bring(["peer"], { by, names: hosts(3) });
    expect(course.run()).toEqual(["roll", ...arrivals(have), ...more]);
    expect(course.shown).toMatchObject({ peer: "second", trusted: [1, 1] });
    expect(course.snapshot.peers).toHaveLength(3);
  });

  test("whom to trust besides is restarted with before there are more, and the pair of that joins them", () => {
    const course = growing(have);
    const trust = bundle(OWN, THEIRS);
    course.bring(["peer"], { by: OWN, trust, names: hosts(have) });
    expect(course.run()).toEqual(["roll"]);
    expect(course.restarts).toBe(have);
    expect(course.snapshot.peers).toHaveLength(have);
    course.bring(["peer"], { by: THEIRS, trust, names: hosts(3) });
    expect(course.run()).toEqual(["roll", ...arrivals(have)]);
    expect(course.restarts).toBe(have);
  });

  test("an edit that helps nobody to join waits for those who are to", () => {
    const edited = asking(made(have), { replicas: 3, version: NEWER.version });
    expect(planCluster(edited)).toMatchObject({ next: "wait", rule: "restart-keeps-quorum" });
  });
});
