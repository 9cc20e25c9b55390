import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type EndpointStatus, type Member, type MemberId, type MemberList, memberIdFromHex } from "#etcd/types.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { calm, cluster, endpointStatus, LATER_ID } from "#kit/snapshots/cluster.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
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
} from "#kit/snapshots/cluster-rested.ts";
import { NEXT, secured, withMade } from "#kit/snapshots/cluster-tls.ts";
import type { Plan } from "#runtime/decide.ts";
import { isAsRested, restedAt, restedByRecord } from "./rested.ts";

/** The status does not have the state of authentication yet. */
function withoutRecord(snapshot: ClusterSnapshot): ClusterSnapshot {
  const { auth: _, ...status } = snapshot.cluster.status!;
  return { ...snapshot, cluster: { ...snapshot.cluster, status } };
}

const SETTLED: Plan<ClusterStep> = { next: "settled" };
const MINUTE_MS = 60_000;
const secure = calm(secured());

describe("restedAt: a quick check may follow an observation", () => {
  test.each([
    { name: "without TLS", given: WHOLE },
    { name: "with certificates that are not due for renewal", given: secure },
    { name: "with a single member", given: calm(cluster({ replicas: 1 })) },
  ])("of a cluster at rest: $name", ({ given }) => {
    expect(restedAt(given, SETTLED)).toMatchObject({ versions: expect.any(String), urls: expect.any(String) });
  });

  const reports = [{ rule: "no-space", because: "it is full", is: "notice" }] as const;
  const binding = { user: "bob" } as never;
  const ending = (leftMs: number) =>
    begin(secured())
      .apply(withMade, { peer: { lastsMs: leftMs } })
      .apply(calm).snapshot;
  const renewal = 30 * 86_400_000;
  const REFUSED: readonly { name: string; given?: ClusterSnapshot; plan?: Plan<ClusterStep> }[] = [
    {
      name: "the plan waits",
      plan: { next: "wait", rule: "r", because: "b", recheckAfterMs: 1, warn: false },
    },
    { name: "the plan has a notice", plan: { next: "settled", reports } },
    { name: "the cluster is not at rest", given: cluster({ down: ["my-etcd-1"] }) },
    { name: "the condition Degraded is True", given: withCondition("Degraded", "True") },
    {
      name: "the status lacks the state of authentication",
      given: begin(guarded()).apply(calm).apply(withoutRecord).snapshot,
    },
    { name: "a PodMonitor is wanted", given: withSpec({ monitoring: { podMonitor: { enabled: true } } }) },
    { name: "the condition Monitored is True", given: withCondition("Monitored", "True", "Monitored") },
    { name: "authentication is wanted", given: withSpec({ auth: { enabled: true } }) },
    { name: "authentication is recorded as on", given: withStatus({ auth: { enabled: true } as never }) },
    { name: "the status has a forecast", given: withStatus({ dryRun: {} as never }) },
    {
      name: "an EtcdUser has a binding",
      given: { ...secure, certificates: { ...secure.certificates, bindings: [binding] } },
    },
    { name: "a certificate is due for renewal within five minutes", given: ending(renewal + 5 * MINUTE_MS) },
    {
      name: "a CA is being rotated",
      given: begin(secured())
        .apply(withMade, { clientCA: { next: NEXT, rotatedFor: "now", knownForMs: 1_000 } })
        .apply(calm).snapshot,
    },
  ];
  test.each(REFUSED)("not while $name", ({ given = WHOLE, plan = SETTLED }) => {
    expect(restedAt(given, plan)).toBeUndefined();
  });

  test("while certificates are due for renewal only after the next observation", () => {
    expect(restedAt(ending(renewal + 6 * MINUTE_MS), SETTLED)).toBeDefined();
  });
});

/** Status and member list of a member. */
function word(given: { status?: Partial<EndpointStatus>; members?: readonly Member[]; peer?: string } = {}) {
  const status = { ...endpointStatus(IDENTITY.clusterID, IDS[1]!, IDS[0]!), ...given.status };
  const list: MemberList = { ...LIST, members: given.members ?? LIST.members };
  return { peer: given.peer ?? NAMES[1]!, status, list };
}

/** The member list, with this change of the last member. */
function listing(change: Partial<Member>): readonly Member[] {
  return LIST.members.map((member, n) => (n === 2 ? { ...member, ...change } : member));
}

describe("isAsRested: a cluster is unchanged", () => {
  const looked = restedAt(WHOLE, SETTLED)!;
  const recorded = restedByRecord(WHOLE)!;

  test.each([
    { name: "the same answer", given: word() },
    {
      name: "another database size, raft index and term",
      given: word({ status: { dbSizeBytes: 1, raftIndex: 9_000, raftTerm: 7 } }),
    },
    { name: "the member list in another order", given: word({ members: LIST.members.toReversed() }) },
  ])("when a member answers with $name", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(true);
    expect(isAsRested(recorded, given)).toBe(true);
  });

  const OTHERS = [
    { name: "there is a new leader", given: word({ status: { leaderId: memberIdFromHex(IDS[1]!) } }) },
    { name: "there is no leader", given: word({ status: { leaderId: undefined } }) },
    { name: "the member is a learner", given: word({ status: { isLearner: true } }) },
    { name: "a different member answers", given: word({ status: { memberId: memberIdFromHex(IDS[2]!) as MemberId } }) },
    { name: "the member has an unknown name", given: word({ peer: "my-etcd-9" }) },
    { name: "a downgrade is in progress", given: word({ status: { downgradeTo: "3.5.0" } }) },
    { name: "there is an alarm", given: word({ status: { alarms: [{ memberId: undefined, type: "NOSPACE" }] } }) },
    {
      name: "there is an additional member",
      given: word({ members: [...LIST.members, { ...LIST.members[0]!, id: memberIdFromHex(LATER_ID) }] }),
    },
    { name: "a member is missing", given: word({ members: LIST.members.slice(0, 2) }) },
    { name: "a member has a new ID", given: word({ members: listing({ id: memberIdFromHex(LATER_ID) }) }) },
    { name: "a member has a new name", given: word({ members: listing({ name: "other" }) }) },
    { name: "a member is a learner", given: word({ members: listing({ isLearner: true }) }) },
  ];
  test.each(OTHERS)("not when $name", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(false);
    expect(isAsRested(recorded, given)).toBe(false);
  });

  test.each([
    { name: "peers", given: word({ members: listing({ peerUrls: ["http://elsewhere:2380"] }) }) },
    { name: "clients", given: word({ members: listing({ clientUrls: ["http://elsewhere:2379"] }) }) },
  ])("not when a member has a new URL for $name, but only after an observation", ({ given }) => {
    expect(isAsRested(looked, given)).toBe(false);
    expect(isAsRested(recorded, given)).toBe(true);
  });

  test("not when a member's client URLs are listed as its peer URLs", () => {
    const [first, ...rest] = LIST.members;
    const urls = [...first!.clientUrls];
    expect(isAsRested(looked, word({ members: [{ ...first!, peerUrls: urls }, ...rest] }))).toBe(false);
  });
});

describe("restedByRecord: the recorded status replaces an observation", () => {
  test("for a healthy cluster", () => {
    expect(restedByRecord(WHOLE)).toMatchObject({ membership: restedAt(WHOLE, SETTLED)!.membership });
  });

  const peer = WHOLE.peers[0]!;
  test.each([
    { name: "the recorded leader is no member", given: withStatus({ leader: "nobody" }) },
    { name: "the recorded condition Degraded is True", given: withCondition("Degraded", "True") },
    { name: "a PodMonitor is wanted", given: withSpec({ monitoring: { podMonitor: { enabled: true } } }) },
    { name: "there is a foreign EtcdPeer", given: { ...WHOLE, foreignPeers: [{ ...peer, metadata: strange(peer) }] } },
  ])("not when $name", ({ given }) => {
    expect(restedByRecord(given)).toBeUndefined();
  });
});
