import type { CallOptions } from "#etcd/client.ts";
import { type Member, type MemberId, type MemberList, memberId } from "#etcd/types.ts";
import { type EtcdVersionText, neverAborted } from "#kit/etcd/etcd.ts";
import type { Diary } from "./likeness.ts";
import { type EtcdSide, NOBODYS_CLUSTER } from "./likeness-etcd.ts";

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/** For calls that cannot succeed. */
const SHORT: CallOptions = { signal: neverAborted, deadlineMs: 1_500 };
const UNKNOWN_MEMBER = memberId(1n);
const ELSEWHERE = "http://127.0.0.1:1";

/** Peer URLs of members of this release are changed, and restored. */
export function updateStory(version: EtcdVersionText) {
  return { name: `peer URLs of members of ${version} change`, version, members: 3 as const, tell };
}

interface Telling {
  readonly etcd: EtcdSide;
  readonly diary: Diary;
  readonly idOf: (name: string) => MemberId;
}

async function tell({ etcd, diary, idOf }: Telling): Promise<void> {
  const { client } = etcd;
  await etcd.settled();
  const [m0, m1] = [etcd.endpoint("m0"), etcd.endpoint("m1")];
  /** Whether the member list has this URL for a member, and its name and role there. */
  const listed = ({ members }: MemberList, of: (each: Member) => boolean, url: string) => {
    const found = members.find(of);
    return found && { isThere: found.peerUrls.join() === url, name: found.name, isLearner: found.isLearner };
  };
  const update = async (line: string, name: string, url: string, { at = m1, ...options } = { ...OPTIONS, at: m1 }) => {
    const answer = await diary.note(line, () => client.updateMember(at, idOf(name), [url], options));
    if (answer !== undefined)
      diary.write(
        `${line}: there`,
        listed(answer, ({ id }) => id === idOf(name), url),
      );
    await etcd.settled();
  };

  await update("a member gets another peer URL", "m2", ELSEWHERE);
  await update("the same peer URL again", "m2", ELSEWHERE);
  await update("the answering member gets another peer URL", "m1", "http://127.0.0.1:2");
  await diary.note("a member list while two of three members have wrong peer URLs", () =>
    client.memberList(m0, { ...OPTIONS, linearizable: true }),
  );
  await update("the answering member gets its own peer URL again", "m1", etcd.peerUrl("m1"));
  await update("a member gets another member's peer URL", "m2", etcd.peerUrl("m0"));
  await update("a member gets its own peer URL again", "m2", etcd.peerUrl("m2"));
  await diary.note("update with the ID of another cluster", () =>
    client.updateMember(m0, idOf("m2"), [ELSEWHERE], { ...OPTIONS, expectedClusterId: NOBODYS_CLUSTER }),
  );
  await diary.note("update of an unknown member", () => client.updateMember(m0, UNKNOWN_MEMBER, [ELSEWHERE], OPTIONS));
  await diary.note("update of an unknown member to another member's peer URL", () =>
    client.updateMember(m0, UNKNOWN_MEMBER, [etcd.peerUrl("m1")], OPTIONS),
  );

  const learner = await added(etcd);
  const moved = await diary.note("a learner that has not started gets another peer URL", () =>
    client.updateMember(m0, learner, [ELSEWHERE], OPTIONS),
  );
  if (moved !== undefined)
    diary.write(
      "a learner that has not started gets another peer URL: there",
      listed(moved, ({ id }) => id === learner, ELSEWHERE),
    );
  await diary.note("the learner is removed", () => client.removeMember(m0, learner, OPTIONS));

  await etcd.kill("m2");
  await etcd.settled();
  await update("a stopped member gets another peer URL", "m2", ELSEWHERE, { ...OPTIONS, at: m0 });
  await update("a stopped member gets its own peer URL again", "m2", etcd.peerUrl("m2"), { ...OPTIONS, at: m0 });
  await etcd.kill("m1");
  await untilAlone(etcd);
  await diary.note("update without quorum", () => client.updateMember(m0, idOf("m2"), [ELSEWHERE], SHORT));
  await diary.note("update of an unknown member without quorum", () =>
    client.updateMember(m0, UNKNOWN_MEMBER, [ELSEWHERE], SHORT),
  );
  await diary.note("update to the peer URL of another member without quorum", () =>
    client.updateMember(m0, idOf("m2"), [etcd.peerUrl("m1")], SHORT),
  );
}

/** etcd accepts a new member only after the others have been connected for a while. */
async function added(etcd: EtcdSide): Promise<MemberId> {
  for (let tries = 1; ; tries++) {
    try {
      const { member } = await etcd.client.addLearner(etcd.endpoint("m0"), ["http://127.0.0.1:3"], OPTIONS);
      return member.id;
    } catch (thrown) {
      if (tries === 100) throw thrown;
      await etcd.wait();
    }
  }
}

/** Waits until the remaining member notices that quorum is lost: an election timeout. */
async function untilAlone(etcd: EtcdSide): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    await etcd.wait();
    const { leaderId } = await etcd.client.status(etcd.endpoint("m0"), OPTIONS);
    if (leaderId === undefined) return;
  }
  throw new Error("the member still knows a leader");
}
