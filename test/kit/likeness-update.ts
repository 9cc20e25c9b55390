import type { CallOptions } from "#etcd/client.ts";
import { type Member, type MemberId, type MemberList, memberId } from "#etcd/types.ts";
import { type EtcdVersionText, neverAborted } from "./etcd.ts";
import type { Diary } from "./likeness.ts";
import { type EtcdSide, NOBODYS_CLUSTER } from "./likeness-etcd.ts";

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/** For calls that cannot succeed. */
const SHORT: CallOptions = { signal: neverAborted, deadlineMs: 1_500 };
const NOBODY = memberId(1n);
const ELSEWHERE = "http://127.0.0.1:1";

/** Members of this release are listed elsewhere than they were, and back. */
export function updateStory(version: EtcdVersionText) {
  return { name: `members of ${version} are listed elsewhere`, version, members: 3 as const, tell };
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
  /** Where it is by the list, and what else the list says of it. */
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

  await update("it is listed elsewhere", "m2", ELSEWHERE);
  await update("once more", "m2", ELSEWHERE);
  await update("who answers is", "m1", "http://127.0.0.1:2");
  await diary.note("two that nobody can dial, and the third one: a list", () =>
    client.memberList(m0, { ...OPTIONS, linearizable: true }),
  );
  await update("and back", "m1", etcd.peerUrl("m1"));
  await update("where another one is", "m2", etcd.peerUrl("m0"));
  await update("where it was", "m2", etcd.peerUrl("m2"));
  await diary.note("of another cluster", () =>
    client.updateMember(m0, idOf("m2"), [ELSEWHERE], { ...OPTIONS, expectedClusterId: NOBODYS_CLUSTER }),
  );
  await diary.note("nobody", () => client.updateMember(m0, NOBODY, [ELSEWHERE], OPTIONS));
  await diary.note("nobody, where another one is", () =>
    client.updateMember(m0, NOBODY, [etcd.peerUrl("m1")], OPTIONS),
  );

  const learner = await added(etcd);
  const moved = await diary.note("a learner that has not started", () =>
    client.updateMember(m0, learner, [ELSEWHERE], OPTIONS),
  );
  if (moved !== undefined)
    diary.write(
      "a learner that has not started: there",
      listed(moved, ({ id }) => id === learner, ELSEWHERE),
    );
  await diary.note("it is removed", () => client.removeMember(m0, learner, OPTIONS));

  await etcd.kill("m2");
  await etcd.settled();
  await update("one is down: it is listed elsewhere", "m2", ELSEWHERE, { ...OPTIONS, at: m0 });
  await update("and where it was", "m2", etcd.peerUrl("m2"), { ...OPTIONS, at: m0 });
  await etcd.kill("m1");
  await untilAlone(etcd);
  await diary.note("without quorum", () => client.updateMember(m0, idOf("m2"), [ELSEWHERE], SHORT));
  await diary.note("without quorum, nobody", () => client.updateMember(m0, NOBODY, [ELSEWHERE], SHORT));
  await diary.note("without quorum, where another one is", () =>
    client.updateMember(m0, idOf("m2"), [etcd.peerUrl("m1")], SHORT),
  );
}

/** Members must have been connected for a while before etcd takes one more. */
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

/** Until the one that is left knows that it has lost the quorum: an election timeout. */
async function untilAlone(etcd: EtcdSide): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    await etcd.wait();
    const { leaderId } = await etcd.client.status(etcd.endpoint("m0"), OPTIONS);
    if (leaderId === undefined) return;
  }
  throw new Error("it still knows a leader");
}
