import { intendedPeers, type KnownMember, lostForMs, takesPart, votersOf } from "#cluster/members.ts";
import { retire } from "#cluster/rules/membership/retire-peer.ts";
import { type ClusterSnapshot, corruptMembers, healthOf, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { lastWords, whyNotRunning } from "#kube/pod.ts";
import { step } from "#runtime/decide.ts";

/**
 * How long to wait when the data is certainly gone or wrong, in milliseconds. Waiting longer brings nothing back; not waiting at
 * all would act on a claim that a person is just about to put back.
 */
const GONE_AFTER_MS = 10_000;

/**
 * A voter that is lost for longer than the stated time is given up; a fresh member takes its place afterwards. A member that
 * is only intended steps back for it: it waits for the lost one to be healthy, and would wait for ever.
 */
export const replaceLost: ClusterRule = {
  name: "replace-lost",
  decide(snapshot) {
    const lost = votersOf(snapshot)
      .filter((member) => member.isOurs && !takesPart(snapshot, member))
      .filter((member) => lostForMs(snapshot, member) >= patienceMs(snapshot, member))
      .sort((a, b) => lostForMs(snapshot, b) - lostForMs(snapshot, a))[0];
    const peer = lost === undefined ? undefined : peerNamed(snapshot, lost.name);
    if (lost === undefined || peer === undefined) return undefined;
    const [intent] = intendedPeers(snapshot).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (intent !== undefined) return retire(intent, "replace-lost");
    const seconds = Math.round(lostForMs(snapshot, lost) / 1_000);
    const because = `${lost.name} is lost for ${seconds} s (${why(snapshot, lost)})`;
    return step("replace-lost", because, { do: "markRemoval", peer, removal: "replacement" });
  },
};

function patienceMs(snapshot: ClusterSnapshot, member: KnownMember): number {
  // While its data is wrong nobody is served: etcd refuses every read and write.
  const isWrong = corruptMembers(snapshot).includes(member.id);
  const isGone = isWrong || hasNoClaim(snapshot, member) || refusedEmptyVolume(snapshot, member);
  return isGone ? Math.min(GONE_AFTER_MS, snapshot.replaceAfterMs) : snapshot.replaceAfterMs;
}

/**
 * What etcd says when it is started on an empty data directory: with the fence ("couldn't find local name … in the initial
 * cluster configuration", server/config/config.go), or with the flags of its first start while the others can be asked
 * ("member … has already been bootstrapped", server/etcdserver/bootstrap.go). It only shortens the wait.
 */
const REFUSALS = ["couldn't find local name", "has already been bootstrapped"];

/** The fence has held: the member came back to an empty volume and stopped. */
function refusedEmptyVolume(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const pod = snapshot.pods.get(member.name);
  return pod !== undefined && lastWords(pod).some((words) => REFUSALS.some((refusal) => words.includes(refusal)));
}

function hasNoClaim(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return !snapshot.claims.some(({ metadata }) => metadata.name === member.name);
}

function why(snapshot: ClusterSnapshot, member: KnownMember): string {
  if (hasNoClaim(snapshot, member)) return "its claim is gone";
  if (refusedEmptyVolume(snapshot, member)) return "its volume is empty";
  const pod = snapshot.pods.get(member.name);
  const seen = healthOf(snapshot, member.name, member.id);
  return (pod === undefined ? undefined : whyNotRunning(pod)) ?? (seen.is === "healthy" ? "healthy" : seen.why);
}
