import { expect, test } from "vitest";
import { awaitHealth } from "#cluster/rules/healing/await-health.ts";
import { replaceLost } from "#cluster/rules/healing/replace-lost.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { ALWAYS_WELL, cluster, sickFor, unpublished, withRemoval } from "#kit/cluster.ts";
import { dialled, THEIRS, withJoined, withMember, withoutClaim } from "#kit/cluster-changes.ts";

const settled = cluster();
const down = cluster({ down: ["my-etcd-1"] });
const twoDown = cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] });
const five = cluster({ replicas: 5 });

/** A later member that takes part and has not served clients for so long, in milliseconds. */
function silentFor(snapshot: ClusterSnapshot, ms: Readonly<Record<string, number>>): ClusterSnapshot {
  return Object.entries(ms).reduce((given, [name, each]) => {
    const { id } = five.cluster.status!.identity!.initialMembers.find((member) => member.name === name)!;
    const history = { ...ALWAYS_WELL, silentForMs: each, unfitForMs: each };
    const late = unpublished(given, name, id);
    return { ...late, histories: new Map([...late.histories, [id, history] as const]) };
  }, snapshot);
}

const away = cluster({ down: ["my-etcd-2"] });
const waits: { name: string; given: ClusterSnapshot; expect: object }[] = [
  {
    name: "who is down is named, and looked for every second at first",
    given: down,
    expect: { because: "waiting for my-etcd-1 to be healthy again", recheckAfterMs: 1_000, warn: false },
  },
  {
    name: "then more rarely",
    given: sickFor(down, "my-etcd-1", 50_000),
    expect: { recheckAfterMs: 5_000 },
  },
  {
    name: "who has been down for the shortest time says when to look again",
    given: sickFor(sickFor(twoDown, "my-etcd-1", 80_000), "my-etcd-3", 30_000),
    expect: { because: "waiting for my-etcd-1, my-etcd-3 to be healthy again", recheckAfterMs: 3_000 },
  },
  {
    name: "that the spec says Never is told of each",
    given: { ...sickFor(down, "my-etcd-1", 3_000_000), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: {
      because:
        "waiting for my-etcd-1 to be healthy again; my-etcd-1 is not replaced, because spec.replacement.after is Never",
    },
  },
  {
    name: "and of several",
    given: { ...twoDown, replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: { because: expect.stringMatching(/; my-etcd-1, my-etcd-3 are not replaced, because/) },
  },
  {
    name: "whose data is gone is replaced all the same",
    given: { ...withoutClaim(down, "my-etcd-1"), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: { because: "waiting for my-etcd-1 to be healthy again" },
  },
  {
    name: "a first member that is a moment behind the others is looked for as often as they were",
    given: sickFor(dialled(withJoined(away, 2), "my-etcd-2", 5_000), "my-etcd-2", 50_000),
    expect: { recheckAfterMs: 500 },
  },
  {
    name: "but not less often than any other one that is down",
    given: sickFor(dialled(withJoined(away, 2), "my-etcd-2", 50_000), "my-etcd-2", 20_000),
    expect: { recheckAfterMs: 2_000 },
  },
  {
    name: "one that had joined before is not, however young its pod is",
    given: sickFor(dialled(down, "my-etcd-1", 5_000), "my-etcd-1", 50_000),
    expect: { recheckAfterMs: 5_000 },
  },
  {
    name: "who serves clients late is named, and nobody else hears of it for half a minute",
    given: silentFor(five, { "my-etcd-1": 30_000 }),
    expect: { because: "waiting for my-etcd-1 to serve clients", recheckAfterMs: 3_000, warn: false },
  },
  {
    name: "after that a person does",
    given: silentFor(five, { "my-etcd-1": 30_001 }),
    expect: { warn: true },
  },
  {
    name: "one that is late for long is enough, and the latest says when to look again",
    given: silentFor(five, { "my-etcd-1": 40_000, "my-etcd-3": 20_000 }),
    expect: { because: "waiting for my-etcd-1, my-etcd-3 to serve clients", recheckAfterMs: 2_000, warn: true },
  },
];
for (const { name, given, expect: wanted } of waits) {
  test(`await-health: ${name}`, () => expect(awaitHealth.decide(given)).toMatchObject({ next: "wait", ...wanted }));
}

test("await-health: nobody waits for a member that a person added", () => {
  expect(awaitHealth.decide(withMember(settled, THEIRS))).toBeUndefined();
});

test("replace-lost: a removal that is on record is not put there again", () => {
  const lost = sickFor(down, "my-etcd-1", 300_000);
  expect(replaceLost.decide(lost)).toMatchObject({ step: { do: "markRemoval", removal: "replacement" } });
  expect(replaceLost.decide(withRemoval(lost, "my-etcd-1", "replacement"))).toBeUndefined();
});
