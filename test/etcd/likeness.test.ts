import { describe, expect, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import { type EndpointStatus, type Member, type MemberId, type MemberList, memberId } from "#etcd/types.ts";
import { type EtcdVersionText, neverAborted } from "#kit/etcd/etcd.ts";
import { Diary, expectAlike, type Listed, strayLines } from "#kit/likeness/likeness.ts";
import { downgradeStory } from "#kit/likeness/likeness-downgrade.ts";
import { type EtcdSide, NOBODYS_CLUSTER, realEtcd, simulatedEtcd } from "#kit/likeness/likeness-etcd.ts";
import { updateStory } from "#kit/likeness/likeness-update.ts";

// The simulated etcd answers as the real one does: see test/kit/likeness/likeness.ts.

/** Intended differences. */
const ON_PURPOSE: Listed = {
  "A voter without its data participates again; a real one panics while the leader counts on its earlier entries.": [
    "one member is added and another removed: the new voter starts without its data and with the current list",
  ],
};

const VERSION = "3.6.16";
const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/** Options for calls that cannot succeed. */
const SHORT: CallOptions = { signal: neverAborted, deadlineMs: 1_500 };
const NOBODY = memberId(1n);

/** One of the two etcds, as a story sees it. */
interface Telling {
  readonly etcd: EtcdSide;
  readonly diary: Diary;
  readonly idOf: (name: string) => MemberId;
}

interface Story {
  readonly name: string;
  /** The release, if it is not VERSION. */
  readonly version?: EtcdVersionText;
  readonly members: 1 | 3;
  tell(telling: Telling): Promise<void>;
}

const STORIES: readonly Story[] = [
  {
    name: "one member is added and another removed",
    members: 3,
    async tell({ etcd, diary, idOf }) {
      const { client } = etcd;
      const [m0, m1] = [etcd.endpoint("m0"), etcd.endpoint("m1")];
      const list = (line: string, endpoint = m1) =>
        diary.note(line, () => client.memberList(endpoint, { ...OPTIONS, linearizable: true }));
      await leads(etcd, idOf, "m0");
      await diary.note("status of the leader", () => client.status(m0, OPTIONS));
      await diary.note("status of a follower", () => client.status(m1, OPTIONS));
      await diary.note("health", () => client.health(etcd.metricsAddress("m1"), OPTIONS));
      await list("the list of the leader", m0);
      await list("the list of a follower");
      await diary.note("the local list of a follower", () =>
        client.memberList(m1, { ...OPTIONS, linearizable: false }),
      );

      const elsewhere = { ...OPTIONS, expectedClusterId: NOBODYS_CLUSTER };
      await diary.note("the list, with another cluster ID", () =>
        client.memberList(m0, { ...elsewhere, linearizable: true }),
      );
      await diary.note("a removal, with another cluster ID", () => client.removeMember(m0, idOf("m1"), elsewhere));
      await diary.note("an unknown member is removed", () => client.removeMember(m0, NOBODY, OPTIONS));
      await diary.note("an unknown member is promoted", () => client.promote(m0, NOBODY, OPTIONS));
      await diary.note("a voter is promoted", () => client.promote(m0, idOf("m1"), OPTIONS));
      await diary.note("a follower is asked to transfer leadership", () => client.moveLeader(m1, idOf("m0"), OPTIONS));
      await diary.note("leadership is transferred to an unknown member", () => client.moveLeader(m0, NOBODY, OPTIONS));
      await diary.note("leadership is transferred to the leader", () => client.moveLeader(m0, idOf("m0"), OPTIONS));

      await etcd.spare("m3");
      const m3 = etcd.endpoint("m3");
      const added = await diary.need("a learner is added through a follower", () =>
        patiently(etcd, "Unhealthy", () => client.addLearner(m1, [etcd.peerUrl("m3")], OPTIONS)),
      );
      const learner = added.member.id;
      await diary.note("a learner with a voter's address is added", () =>
        client.addLearner(m0, [etcd.peerUrl("m2")], OPTIONS),
      );
      await learnerRefused(etcd, diary, "a second learner is added", m0);
      await list("the list with a learner");
      await diary.note("the learner is promoted before it has started", () => client.promote(m0, learner, OPTIONS));
      await diary.note("leadership is transferred to a learner", () => client.moveLeader(m0, learner, SHORT));
      diary.write("the learner starts fenced", await etcd.start("m3", "fenced"));
      diary.write("the learner starts with the current list", await etcd.start("m3", "joining"));
      await diary.note("status of a learner", () => client.status(m3, OPTIONS));
      await diary.note("health of a learner", () => client.health(etcd.metricsAddress("m3"), OPTIONS));
      await diary.note("leadership is transferred to a running learner", () => client.moveLeader(m0, learner, SHORT));
      await diary.note("the list of a learner", () => client.memberList(m3, { ...OPTIONS, linearizable: true }));
      await diary.note("the local list of a learner", () => client.memberList(m3, { ...OPTIONS, linearizable: false }));
      await diary.note("a learner is asked to change members", () => client.removeMember(m3, NOBODY, OPTIONS));
      await diary.note("the learner is promoted", () =>
        patiently(etcd, "LearnerNotReady", () => client.promote(m1, learner, OPTIONS)),
      );
      await diary.note("the learner is promoted again", () => client.promote(m0, learner, OPTIONS));
      await etcd.settled();
      await list("the list of the new voter", m3);

      try {
        await patiently(etcd, "Unhealthy", () => client.removeMember(m0, idOf("m0"), OPTIONS));
      } catch (thrown) {
        if (!hasCode(thrown, "EtcdUnavailable")) throw thrown; // a real leader may end before it has answered
      }
      await etcd.ended("m0");
      await etcd.settled();
      await list("the list after the leader's removal");
      await diary.note("the removed leader is removed again", () => client.removeMember(m1, idOf("m0"), OPTIONS));
      diary.write("the removed leader starts again", await etcd.start("m0", "fenced"));
      etcd.empty("m0");
      diary.write("the removed leader starts without its data", await etcd.start("m0", "first"));
      await list("the list is unchanged");
      await leads(etcd, idOf, "m1");
      await client.memberList(m3, { ...OPTIONS, linearizable: true }); // so that this leader knows the entries of m3
      await etcd.kill("m3");
      etcd.empty("m3");
      diary.write("the new voter starts without its data and with an old list", await etcd.start("m3", "stale"));
      diary.write("the new voter starts without its data and with the current list", await etcd.start("m3", "joining"));
    },
  },
  {
    name: "members are down",
    members: 3,
    async tell({ etcd, diary, idOf }) {
      const { client } = etcd;
      const m0 = etcd.endpoint("m0");
      const known = (line: string) =>
        diary.note(line, () => client.memberList(m0, { ...OPTIONS, linearizable: false }));
      await leads(etcd, idOf, "m0");
      await etcd.kill("m2");
      await diary.note("a stopped member does not answer", () => client.status(etcd.endpoint("m2"), SHORT));
      await learnerRefused(etcd, diary, "a learner is added while a voter is stopped", m0);
      await known("the list after that");
      await diary.note("leadership is transferred to a stopped member", () => client.moveLeader(m0, idOf("m2"), SHORT));
      await etcd.settled();

      etcd.empty("m2");
      diary.write("a voter without its data starts fenced", await etcd.start("m2", "fenced"));
      const outcome = await etcd.start("m2", "first");
      diary.write("a voter without its data starts as at first", outcome);
      if (outcome === "runs") await etcd.kill("m2");
      await leads(etcd, idOf, "m0");
      await diary.note("a stopped member is removed", () => client.removeMember(m0, idOf("m2"), OPTIONS));

      await etcd.kill("m1");
      await etcd.wait();
      await untilAlone(etcd, m0);
      await diary.note("status without quorum", () => client.status(m0, OPTIONS));
      await diary.note("health without quorum", () => client.health(etcd.metricsAddress("m0"), SHORT));
      await diary.note("the list without quorum", () => client.memberList(m0, { ...SHORT, linearizable: true }));
      await known("the local list without quorum");
      await diary.note("a learner is added without quorum", () => client.addLearner(m0, ["http://127.0.0.1:1"], SHORT));
      await diary.note("a stopped member is removed without quorum", () => client.removeMember(m0, idOf("m1"), SHORT));
      await diary.note("an unknown member is promoted without quorum", () => client.promote(m0, NOBODY, SHORT));
      await diary.note("leadership is transferred without quorum", () => client.moveLeader(m0, idOf("m1"), SHORT));
      diary.write("the other voter comes back", await etcd.start("m1", "fenced"));
      await etcd.settled();
      await diary.note("the list is confirmed again", () => client.memberList(m0, { ...OPTIONS, linearizable: true }));
    },
  },
  {
    name: "a removal costs the quorum",
    members: 3,
    async tell({ etcd, diary, idOf }) {
      const m0 = etcd.endpoint("m0");
      await leads(etcd, idOf, "m0");
      await etcd.kill("m2");
      await diary.note("the removal", () => etcd.client.removeMember(m0, idOf("m1"), OPTIONS));
      await diary.note("the list after that", () => etcd.client.memberList(m0, { ...OPTIONS, linearizable: false }));
    },
  },
  downgradeStory(VERSION, "3.5.35"),
  updateStory("3.5.35"),
  updateStory(VERSION),
  updateStory("3.7.3"),
  {
    name: "a single member with an alarm",
    members: 1,
    async tell({ etcd, diary, idOf }) {
      const { client } = etcd;
      const m0 = etcd.endpoint("m0");
      const health = (line: string) => diary.note(line, () => client.health(etcd.metricsAddress("m0"), OPTIONS));
      await health("health before");
      await etcd.raiseCorrupt("m0");
      await diary.note("status", () => client.status(m0, OPTIONS));
      await health("health");
      await diary.note("the list", () => client.memberList(m0, { ...OPTIONS, linearizable: true }));
      const added = await diary.need("a learner is added", () =>
        client.addLearner(m0, ["http://127.0.0.1:1"], OPTIONS),
      );
      await diary.note("the learner is removed before it has started", () =>
        client.removeMember(m0, added.member.id, OPTIONS),
      );
      await diary.note("the alarm of an unknown member is disarmed", () =>
        client.disarmAlarm(m0, { memberId: NOBODY, type: "CORRUPT" }, OPTIONS),
      );
      await diary.note("an alarm is disarmed, with another cluster ID", () =>
        client.disarmAlarm(
          m0,
          { memberId: idOf("m0"), type: "CORRUPT" },
          { ...OPTIONS, expectedClusterId: NOBODYS_CLUSTER },
        ),
      );
      await diary.note("status while the alarm is still raised", () => client.status(m0, OPTIONS));
      const disarm = () => client.disarmAlarm(m0, { memberId: idOf("m0"), type: "CORRUPT" }, OPTIONS);
      await diary.note("the alarm is disarmed", disarm);
      await diary.note("the alarm is disarmed again", disarm);
      await diary.note("status without the alarm", () => client.status(m0, OPTIONS));
      await health("health without the alarm");
      await diary.note("the last voter is removed", () => client.removeMember(m0, idOf("m0"), OPTIONS));
      await diary.note("the list after that", () => client.memberList(m0, { ...SHORT, linearizable: false }));
    },
  },
];

describe.concurrent("the simulated etcd answers as the real one does", () => {
  // Real members lower the cluster version within seconds: on a busy machine, a story may ask for a downgrade after
  // that.
  test.each(STORIES)("$name", { retry: 2 }, async ({ name, version = VERSION, members, tell }) => {
    const diaries = await Promise.all(
      [realEtcd(version, members), simulatedEtcd(version, members)].map(async (starting) => {
        const etcd = await starting;
        try {
          const names = new Map<MemberId, string>();
          for (let ordinal = 0; ordinal < members; ordinal++) {
            const { memberId: id } = await etcd.client.status(etcd.endpoint(`m${ordinal}`), OPTIONS);
            names.set(id, `m${ordinal}`);
          }
          const diary = new Diary((answer) => shown(answer, names));
          const idOf = (wanted: string) => [...names].find(([, each]) => each === wanted)?.[0] ?? NOBODY;
          await tell({ etcd, diary, idOf });
          return diary;
        } finally {
          await etcd.stop();
        }
      }),
    );
    expectAlike(name, diaries[0]!, diaries[1]!, ON_PURPOSE);
  });
});

test("every listed difference names a story", () => {
  expect(strayLines(STORIES, ON_PURPOSE)).toEqual([]);
});

/** Repeats a call while etcd refuses it this way: members must be connected, and learners must have caught up. */
async function patiently<T>(etcd: EtcdSide, refusal: EtcdRefusal, call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (thrown) {
      if (refusalOf(thrown) !== refusal || tries === 100) throw thrown;
      await etcd.wait();
    }
  }
}

/**
 * Adds a learner that etcd should refuse. If etcd accepts it, removes it again, so that both stories continue alike.
 */
async function learnerRefused(etcd: EtcdSide, diary: Diary, line: string, endpoint: Endpoint): Promise<void> {
  const added = await diary.note(line, () => etcd.client.addLearner(endpoint, ["http://127.0.0.1:1"], OPTIONS));
  if (added !== undefined) await etcd.client.removeMember(endpoint, added.member.id, OPTIONS);
}

async function leads(etcd: EtcdSide, idOf: (name: string) => MemberId, name: string): Promise<void> {
  const wanted = idOf(name);
  await etcd.settled();
  const { leaderId } = await etcd.client.status(etcd.endpoint(name), OPTIONS);
  for (const other of ["m0", "m1", "m2", "m3"])
    if (leaderId !== wanted && idOf(other) === leaderId)
      await etcd.client.moveLeader(etcd.endpoint(other), wanted, OPTIONS);
  await etcd.settled();
}

/** Waits an election timeout, until the member knows that it has lost the quorum. */
async function untilAlone(etcd: EtcdSide, endpoint: Endpoint): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { leaderId } = await etcd.client.status(endpoint, OPTIONS);
    if (leaderId === undefined) return;
    await etcd.wait();
  }
  throw new Error("it still knows a leader");
}

// The compared parts of an answer. IDs, terms, indexes, sizes and addresses differ between any two clusters and are
// left out. So is the member that answered with a list, which no caller reads.
function shown(answer: unknown, names: Map<MemberId, string>): unknown {
  const nameOf = (id: MemberId | undefined) =>
    id === undefined ? "no member" : (names.get(id) ?? "an unknown member");
  const member = ({ name, clientUrls, isLearner }: Member) => ({
    name,
    isLearner,
    servesClients: clientUrls.length > 0,
  });
  const list = ({ members }: MemberList) => ({
    members: members.map(member).sort((a, b) => (a.name < b.name ? -1 : 1)),
  });
  if (typeof answer !== "object" || answer === null) return answer;
  if ("is" in answer)
    return { is: answer.is, ...("value" in answer ? { value: nameOf(answer.value as MemberId) } : {}) };
  if ("memberList" in answer && "member" in answer) {
    const added = answer as { member: Member; memberList: MemberList };
    names.set(added.member.id, "m3");
    return { member: member(added.member), memberList: list(added.memberList) };
  }
  if ("members" in answer) return list(answer as MemberList);
  const status = answer as EndpointStatus;
  return {
    member: nameOf(status.memberId),
    leader: nameOf(status.leaderId),
    isLearner: status.isLearner,
    alarms: status.alarms.map(({ memberId: id, type }) => `${type} of ${nameOf(id)}`),
    version: status.version,
    downgradeTo: status.downgradeTo,
  };
}
