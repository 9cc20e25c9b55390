import { askedIn, revisionOf } from "#api/revision.ts";
import { memberTls } from "#cluster/certificates.ts";
import { stoppedUpdate, whyRefused } from "#cluster/rolling.ts";
import { pausedText } from "#cluster/rules/life/paused.ts";
import { sleeps } from "#cluster/sleep.ts";
import { type ClusterSnapshot, isForming, isPaused, peerNamed, remembered } from "#cluster/snapshot.ts";
import { awaitedText, isUpdating, updateStatus, waitingForDeletion } from "#cluster/update-status.ts";
import { whyNoVersionPath } from "#cluster/version-path.ts";
import { runningRevision } from "#cluster/versions.ts";
import { isRelease, isSameMinor } from "#etcd/version.ts";
import { pendingRelease } from "./pending-release.ts";
import { pendingTls } from "./tls-change.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Does every member run what the spec asks for? It is asked of the spec as it stands there, not of what of it is possible. */
export function upToDate({ snapshot, own }: Pick<Case, "snapshot" | "own">): Verdict {
  const no = (reason: Verdict["reason"], message: string): Verdict => ({ status: "False", reason, message });
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined) return no("Deleting", "the cluster is being deleted");
  const refused = whyRefused(snapshot).join("; ");
  if (refused !== "") return no("SpecRefused", refused);
  if (isForming(snapshot) || own.length === 0) return no("Forming", "the cluster is being created");
  const noPath = whyNoVersionPath(snapshot);
  if (noPath !== undefined) return no("NoVersionPath", `spec.version is refused: ${noPath}`);
  const stopped = stoppedUpdate(snapshot);
  if (stopped !== undefined) return no("UpdateStopped", `${stopped.member} did not come up: ${stopped.message}`);

  const asleep = sleeps(snapshot);
  const update = asleep ? undefined : updateStatus(snapshot);
  const behind = own.filter(({ name }) => whyBehind(snapshot, name) !== undefined).map(({ name }) => name);
  const count = `${own.length - behind.length} of ${own.length} members run what the spec asks for`;
  if (behind.length === 0 && update === undefined) {
    // What they can be given by now need not be all that is asked for.
    const changing = pendingTls(snapshot);
    if (changing !== undefined)
      return no("CertificatesChanging", `${count} as far as it can be given to them; ${changing}`);
    return { status: "True", reason: "UpToDate", message: count };
  }
  if (asleep) return no("Asleep", `${count}; the others get it when they have started again`);
  const awaited = waitingForDeletion(snapshot);
  if (awaited.length > 0 && behind.every((name) => awaited.includes(name)))
    return no("WaitsForDeletion", `${count}; ${awaitedText(awaited)}`);
  if (isPaused(snapshot)) return no("Paused", `${count}; ${pausedText(snapshot)}`);
  const pending = isUpdating(snapshot) ? undefined : pendingRelease(snapshot);
  if (pending !== undefined) return no(pending.reason, `${count}; ${pending.message}`);
  if (update !== undefined) {
    const waiting = update.waitingFor === undefined ? "" : `; ${update.waitingFor} is not fit yet`;
    return no("Rolling", `${count}${waiting}`);
  }
  return no("Waiting", behind.map((name) => `${name} ${whyBehind(snapshot, name)}`).join("; "));
}

/** Whether the member of this name runs what the spec asks for. */
export function isUpToDate(snapshot: ClusterSnapshot, name: string): boolean {
  return whyRefused(snapshot).length === 0 && whyBehind(snapshot, name) === undefined;
}

/** Why the member does not run what the spec asks for, as a clause that begins with a verb. */
function whyBehind(snapshot: ClusterSnapshot, name: string): string | undefined {
  const pod = snapshot.pods.get(name);
  const asleep = sleeps(snapshot);
  if (pod === undefined) return asleep && hasRunAsked(snapshot, name) ? undefined : "has no pod";
  if (!asleep && pod.metadata.deletionTimestamp !== undefined) return "has a pod that is about to end";
  const running = runningRevision(pod);
  if (running === undefined) return "has a pod that does not say yet what it was made from";
  return running === askedRevision(snapshot) ? undefined : "runs something else";
}

/** Whether a member without a pod last ran what the spec asks for: its EtcdPeer says so, and it has told of no other minor release since. */
function hasRunAsked(snapshot: ClusterSnapshot, name: string): boolean {
  const { cluster } = snapshot;
  const peer = peerNamed(snapshot, name);
  const told = cluster.status?.members?.find((member) => member.name === name)?.version;
  const isOther = told !== undefined && isRelease(told) && !isSameMinor(told, cluster.spec.version);
  return peer !== undefined && revisionOf(peer.spec) === askedRevision(snapshot) && !isOther;
}

const askedRevision = remembered((snapshot) => revisionOf(askedIn(snapshot.cluster.spec, memberTls(snapshot))));
