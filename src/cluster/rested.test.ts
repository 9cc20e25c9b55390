import { describe, expect, test } from "vitest";
import { isAsRested, restedAt, restedByRecord } from "#cluster/rested.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type EndpointStatus, type Member, type MemberId, type MemberList, memberIdFromHex } from "#etcd/types.ts";
import { calm, cluster, endpointStatus, LATER_ID } from "#kit/cluster.ts";
import { guarded } from "#kit/cluster-auth.ts";
import {
  IDENTITY,
  IDS,
  LIST,
  NAMES,
  strange,
  WHOLE,
  withCondition,
  withSpec,
  withStatus,
} from "#kit/cluster-rested.ts";
import { NEXT, secured, withMade } from "#kit/cluster-tls.ts";
import type { Plan } from "#runtime/decide.ts";

/** The status does not say yet what etcd asks of users. */
function withoutRecord(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth: _, ...status } = snapshot.cluster.status!;
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

const SETTLED: Plan<ClusterStep> = { next: "settled" };
const MINUTE_MS = 60_000;
const secure = calm(secured());

describe("a glance may follow a look", () => {
  test.each([
    { name: "in plain text", given: WHOLE },
    { name: "with certificates that are good for long", given: secure },
    { name: "at one member alone", given: calm(cluster({ replicas: 1 })) },
  ])("at a cluster at rest: $name", ({ given }) => {
    expect(restedAt(given, SETTLED)).toMatchObject({ versions: expect.any(String), urls: expect.any(String) });
  });

  const aside = [{ rule: "no-space", because: "it is full", is: "remark" }] as const;
  const binding = { user: "bob" } as never;
  const ending = (leftMs: number) => calm(withMade(secured(), { peer: { lastsMs: leftMs } }));
  const renewal = 30 * 86_400_000;
  const REFUSED: readonly { name: string; given?: ClusterSnapshot; plan?: Plan<ClusterStep> }[] = [
    {
      name: "something is waited for",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "something is said", plan: { next: "settled", aside } },
    { name: "it is not at rest", given: cluster({ down: ["my-etcd-1"] }) },
    { name: "something is amiss by its conditions", given: withCondition("Degraded", "True") },
    { name: "users are read", given: withoutRecord(calm(guarded())) },
    { name: "a PodMonitor is asked for", given: withSpec({ monitoring: { podMonitor: true } }) },
    { name: "a PodMonitor is on record", given: withCondition("Monitored", "True", "Monitored") },
    { name: "users are asked for", given: withSpec({ auth: { enabled: true } }) },
    { name: "users are on record", given: withStatus({ auth: { enabled: true } as never }) },
    { name: "an edit is foretold", given: withStatus({ plan: {} as never }) },
    {
      name: "EtcdUsers have certificates",
      given: { ...secure, certificates: { ...secure.certificates, bindings: [binding] } },
    },
    { name: "a certificate is to be renewed within five minutes", given: ending(renewal + 5 * MINUTE_MS) },
    {
      name: "an authority changes",
      given: calm(withMade(secured(), { clientCA: { next: NEXT, rotatedFor: "now", knownForMs: 1_000 } })),
    },
  ];
  test.each(REFUSED)("not while $name", ({ given = WHOLE, plan = SETTLED }) => {
    expect(restedAt(given, plan)).toBeUndefined();
  });

  test("while nothing of the certificates is due before the next look", () => {
    expect(restedAt(ending(renewal + 6 * MINUTE_MS), SETTLED)).toBeDefined();
  });
});

/** What the member says by its own word, and by its list. */
function word(given: { status?: Partial<EndpointStatus>; members?: readonly Member[]; peer?: string } = {}) {
  const status = { ...endpointStatus(IDENTITY.clusterID, IDS[1]!, IDS[0]!), ...given.status };
  const list: MemberList = { ...LIST, members: given.members ?? LIST.members };
  return { peer: given.peer ?? NAMES[1]!, status, list };
}

/** The list, with the last member as something else. */
function listing(change: Partial<Member>): readonly Member[] {
  return LIST.members.map((member, n) => (n === 2 ? { ...member, ...change } : member));
}

describe("a cluster is as it was", () => {
  const looked = restedAt(WHOLE, SETTLED)!;
  const recorded = restedByRecord(WHOLE)!;

  test.each([
    { name: "the same", given: word() },
    { name: "more data and another term", given: word({ status: { dbSizeBytes: 1, raftIndex: 9_000, raftTerm: 7 } }) },
    { name: "the list in another order", given: word({ members: LIST.members.toReversed() }) },
  ])("by the word of a member: $name", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(true);
    expect(isAsRested(recorded, given)).toBe(true);
  });

  const OTHERS = [
    { name: "another one leads", given: word({ status: { leaderId: memberIdFromHex(IDS[1]!) } }) },
    { name: "nobody leads", given: word({ status: { leaderId: undefined } }) },
    { name: "it is a learner", given: word({ status: { isLearner: true } }) },
    { name: "another one answers", given: word({ status: { memberId: memberIdFromHex(IDS[2]!) as MemberId } }) },
    { name: "nobody of that name answers", given: word({ peer: "my-etcd-9" }) },
    { name: "a downgrade is under way", given: word({ status: { downgradeTo: "3.5.0" } }) },
    { name: "there is an alarm", given: word({ status: { alarms: [{ memberId: undefined, type: "NOSPACE" }] } }) },
    {
      name: "one more is listed",
      given: word({ members: [...LIST.members, { ...LIST.members[0]!, id: memberIdFromHex(LATER_ID) }] }),
    },
    { name: "one less is listed", given: word({ members: LIST.members.slice(0, 2) }) },
    { name: "one has another ID", given: word({ members: listing({ id: memberIdFromHex(LATER_ID) }) }) },
    { name: "one has another name", given: word({ members: listing({ name: "other" }) }) },
    { name: "one is a learner", given: word({ members: listing({ isLearner: true }) }) },
  ];
  test.each(OTHERS)("not when $name", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(false);
    expect(isAsRested(recorded, given)).toBe(false);
  });

  test.each([
    { name: "by its peers", given: word({ members: listing({ peerUrls: ["http://elsewhere:2380"] }) }) },
    { name: "by clients", given: word({ members: listing({ clientUrls: ["http://elsewhere:2379"] }) }) },
  ])("not when one is reached somewhere else $name, if somebody has looked", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(false);
    expect(isAsRested(recorded, given)).toBe(true);
  });

  test("other addresses are not taken for other members", () => {
    const [first, ...rest] = LIST.members;
    const urls = [...first!.clientUrls];
    expect(isAsRested(looked, word({ members: [{ ...first!, peerUrls: urls }, ...rest] }))).toBe(false);
  });
});

describe("what is on record counts", () => {
  test("of a cluster that is well by it", () => {
    expect(restedByRecord(WHOLE)).toMatchObject({ told: restedAt(WHOLE, SETTLED)!.told });
  });

  const peer = WHOLE.peers[0]!;
  test.each([
    { name: "nobody led", given: withStatus({ leader: "nobody" }) },
    { name: "something was amiss", given: withCondition("Degraded", "True") },
    { name: "a PodMonitor is asked for", given: withSpec({ monitoring: { podMonitor: true } }) },
    { name: "a stranger's peer is there", given: { ...WHOLE, foreignPeers: [{ ...peer, metadata: strange(peer) }] } },
  ])("not when $name", ({ given }) => {
    expect(restedByRecord(given)).toBeUndefined();
  });
});
