import { askedIn, revisionOf } from "#api/revision.ts";
import { pausedText } from "#cluster/lifecycle/pause.ts";
import { sleeps } from "#cluster/lifecycle/sleep.ts";
import { runningRevision } from "#cluster/members/member-state.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";
import { type ClusterSnapshot, isForming, isPaused, peerNamed, remembered } from "#cluster/snapshot.ts";
import { pendingTls } from "#cluster-tls/change/progress.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { isRelease, isSameMinor } from "#etcd/version.ts";
import { podTrouble } from "./fitness.ts";
import { pendingRelease } from "./pending-release.ts";
import { awaitedText, isUpdating, updateStatus, waitingForDeletion } from "./update-status.ts";
import { whyNoVersionPath } from "./version-path.ts";
import { stoppedUpdate, whyRefused } from "./wanted-template.ts";

/**
 * The condition UpToDate: whether every member runs exactly what the spec asks for, not only the part that is possible
 * now.
 */
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
    // Members may have all that they can get now, while a TLS change is still in progress.
    const changing = pendingTls(snapshot);
    if (changing !== undefined) return no("CertificatesChanging", `${count} apart from TLS; ${changing}`);
    return { status: "True", reason: "UpToDate", message: count };
  }
  if (asleep) return no("Asleep", `${count}; the others get it when the cluster wakes up`);
  const awaited = waitingForDeletion(snapshot);
  if (awaited.length > 0 && behind.every((name) => awaited.includes(name)))
    return no("WaitsForDeletion", `${count}; ${awaitedText(awaited)}`);
  if (isPaused(snapshot)) return no("Paused", `${count}; ${pausedText(snapshot)}`);
  const pending = isUpdating(snapshot) ? undefined : pendingRelease(snapshot);
  if (pending !== undefined) return no(pending.reason, `${count}; ${pending.message}`);
  if (update !== undefined) {
    const waiting =
      update.waitingFor === undefined
        ? ""
        : `; waiting for ${update.waitingFor}${podTrouble(snapshot, update.waitingFor)}`;
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
  if (!asleep && pod.metadata.deletionTimestamp !== undefined) return "has a terminating pod";
  const running = runningRevision(pod);
  if (running === undefined) return "has a pod without a recorded template revision";
  return running === askedRevision(snapshot) ? undefined : "does not run what the spec asks for";
}

/**
 * Whether a sleeping member last ran what the spec asks for: its EtcdPeer has that template, and it reported no other
 * minor release.
 */
function hasRunAsked(snapshot: ClusterSnapshot, name: string): boolean {
  const { cluster } = snapshot;
  const peer = peerNamed(snapshot, name);
  const reported = cluster.status?.members?.find((member) => member.name === name)?.version;
  const isOther = reported !== undefined && isRelease(reported) && !isSameMinor(reported, cluster.spec.version);
  return peer !== undefined && revisionOf(peer.spec) === askedRevision(snapshot) && !isOther;
}

const askedRevision = remembered((snapshot) => revisionOf(askedIn(snapshot.cluster.spec, memberTls(snapshot))));
