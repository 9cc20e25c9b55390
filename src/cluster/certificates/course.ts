import { applicationCertificateName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, providerOf, type Side } from "#api/tls.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { whyBindingFormer, whyBindingUntold } from "#cluster/certificates/bindings.ts";
import { type Fault, faultOf } from "#cluster/certificates/fault.ts";
import { shownIn, showsAsked } from "#cluster/certificates/former.ts";
import { isAtItsEnd } from "#cluster/certificates/former-end.ts";
import { leavesOf, SHOWN_ON, secretNameOf } from "#cluster/certificates/purposes.ts";
import { secretsInUse, trustInUse, united, withoutTrust } from "#cluster/certificates/trusted.ts";
import { isOfEarlier, isOurs, isUnasked, seen, usable, whyTooLong } from "#cluster/certificates/usable.ts";
import { type ClusterSnapshot, isOwned, remembered, type SeenCertificate } from "#cluster/snapshot.ts";

// How do members come to show what comes from somewhere else, while everybody stays connected?
//   waiting: what they are to show has to be there, and good. Until then nothing changes.
//   trust: all of them trust both, one restart after another. Clients are told to do so, too.
//   tell: clients have the time to hear of it that they have when an authority is followed by another one. Who cannot be told is waited for until
//     what members show is about to be worth nothing.
//   show: all of them show the new one, one restart after another.
//   hand: the operator, and applications, show the new one, too.
//   settled: the former one is trusted no more; members restart one after another.
// How far it has come is read off EtcdPeers, pods, Secrets and status.issuedBy. What has been begun by an EtcdPeer is gone on with, whatever time a
// new process has counted: nobody goes to and fro.

export type Course =
  | { readonly at: "settled" }
  | {
      readonly at: "waiting" | "trust" | "tell" | "show" | "hand";
      readonly why: string;
      /** Every authority by which somebody is known meanwhile, in PEM. While members wait: those that they trust by now. */
      readonly both: string;
    };

const SETTLED: Course = { at: "settled" };

/** How far members have come on the peers' side, and on that of clients. */
export const courses = remembered((snapshot): { readonly peer: Course; readonly client: Course } => {
  const client = courseOf(snapshot, "client");
  return { peer: courseOf(snapshot, "peer", client), client };
});

/** Whom clients are to trust while that changes; `undefined` when it is what members show by now. */
export function bothIn(course: Course): string | undefined {
  return "both" in course ? course.both : undefined;
}

/** @param other how far the other side has come, whose next restarts may do for both */
function courseOf(snapshot: ClusterSnapshot, side: Side, other?: Course): Course {
  const name = secretNameOf(snapshot.cluster, SHOWN_ON[side]);
  const inUse = secretsInUse(snapshot, side);
  const shown = usable(snapshot, SHOWN_ON[side]);
  if (name === undefined || inUse.size === 0) return SETTLED;
  const others = [...inUse].filter((each) => each !== name);
  if (others.length === 0) return side === "peer" || shown === undefined ? SETTLED : handing(snapshot, shown);
  const why = whyNotWhole(snapshot, side);
  const inTrust = trustInUse(snapshot, side);
  const waiting = (because: string): Course => ({ at: "waiting", both: united(...inTrust), why: because });
  if (why !== undefined || shown === undefined) return waiting(why ?? `Secret ${name} is being read`);
  const both = united(...inTrust, shown.trust);
  const excess = whyTooLong(both);
  if (excess !== undefined)
    return waiting(`the certificates in ca.crt of Secret ${name} and those that members trust by now are ${excess}`);
  const lacking = withoutTrust(snapshot, side, shown.trustIds, both);
  if (lacking.length > 0)
    return { at: "trust", both, why: `${lacking.join(", ")} ${does(lacking)} not trust both yet` };
  if (!hasBegun(snapshot, side)) {
    const isAhead = other?.at === "trust" || other?.at === "tell";
    const isEnding = others.some((each) => isWorthless(snapshot, side, each));
    const untold = side === "client" ? whyUntold(snapshot, shown, isEnding) : isAhead ? other.why : undefined;
    if (untold !== undefined) return { at: "tell", both, why: untold };
  }
  return { at: "show", both, why: `Secret ${others.join(", ")} is still shown` };
}

/** Whether some member is to show by now what is asked for: from then on nobody goes back. */
export function hasBegun({ cluster, peers }: ClusterSnapshot, side: Side): boolean {
  const name = secretNameOf(cluster, SHOWN_ON[side]);
  return name !== undefined && peers.some(({ spec }) => spec.tls?.[side]?.secretName === name);
}

function does(names: readonly string[]): string {
  return names.length === 1 ? "does" : "do";
}

/** What is wrong with the certificates that members and the operator are to show. */
function faultsOf(snapshot: ClusterSnapshot, side: Side): readonly Fault[] {
  const purposes = leavesOf(snapshot.cluster, side).filter((purpose) => purpose !== "application");
  return purposes.flatMap((purpose) => faultOf(snapshot, purpose) ?? []);
}

/** What is wrong with what is asked for, if it cannot be shown yet. */
function whyNotWhole(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const [fault] = faultsOf(snapshot, side);
  if (fault !== undefined) return fault.message;
  if (side === "peer") return undefined;
  if (usable(snapshot, "server") === undefined || usable(snapshot, "operator") === undefined)
    return "certificates are being read";
  return whyMismatched(snapshot) ?? whyStranger(snapshot);
}

/** Why members and the operator would not believe each other, by what both are to show to clients and as one. */
function whyMismatched(snapshot: ClusterSnapshot): string | undefined {
  const [server, operator] = [usable(snapshot, "server"), usable(snapshot, "operator")];
  if (server === undefined || operator === undefined) return undefined;
  if (!isUnasked(snapshot, "operator") && !vouches(server.trust, operator))
    return `Secret ${operator.secretName}: its tls.crt is signed by an authority that is not in ca.crt of Secret ${server.secretName}, and members would not let the operator in`;
  if (!vouches(operator.trust, server))
    return `Secret ${server.secretName}: its tls.crt is signed by an authority that is not in ca.crt of Secret ${operator.secretName}, and the operator would not believe members`;
  return undefined;
}

/**
 * What only a person can put right before members show what is asked for, while they show something else; `undefined` when there is nothing, or it is
 * not known.
 */
export function whyForPeople(snapshot: ClusterSnapshot, side: Side): string | undefined {
  if (courses(snapshot)[side].at !== "waiting") return undefined;
  const faults = faultsOf(snapshot, side);
  const theirs = faults.filter(({ isForPeople }) => isForPeople).map(({ message }) => message);
  if (theirs.length > 0) return [...new Set(theirs)].join("; ");
  return side === "client" ? whyMismatched(snapshot) : undefined;
}

/** Whether it is only not known whether what is asked for can be shown: nobody could look, or etcd could not be asked. */
export function isUnread(snapshot: ClusterSnapshot, side: Side): boolean {
  const isEtcdSilent = side === "client" && snapshot.auth?.state.is === "unknown";
  return isEtcdSilent || faultsOf(snapshot, side).some(({ status }) => status === "Unknown");
}

/** Whether what members show from this Secret is worth nothing to anybody, or about to be. */
function isWorthless(snapshot: ClusterSnapshot, side: Side, secretName: string): boolean {
  const found = shownIn(snapshot, side, secretName);
  return found !== undefined && isAtItsEnd(found, snapshot.takenAtMs);
}

/**
 * What of that which tells clients whom to trust has not said so for long enough. What is not ours to write is not waited for.
 * @param isEnding whether who has not been told by now is waited for no more
 */
function whyUntold(
  snapshot: ClusterSnapshot,
  { trustIds, knownForMs }: SeenCertificate,
  isEnding: boolean,
): string | undefined {
  const { certificates, cluster, rereadWithinMs, takenAtMs } = snapshot;
  const { trustMap: map, trustMapForMs: mapForMs } = certificates ?? {};
  const has = (text: string) => {
    const ids = new Set(parsedIn(text).map(idOf));
    return trustIds.every((id) => ids.has(id));
  };
  const name = trustConfigMapName(cluster.metadata.name);
  const isMapKnown = map?.is === "present" && has(map.value.data?.[TRUST_FILE] ?? "");
  if (map === undefined || map.is === "absent" || map.is === "unknown" || isOwned(snapshot, map.value)) {
    if (isMapKnown ? (mapForMs ?? 0) < rereadWithinMs : !isEnding)
      return `ConfigMap ${name} has to say for ${rereadWithinMs / 1_000} s whom clients are to trust besides`;
  }
  const late = whyBindingUntold(snapshot, trustIds, takenAtMs - knownForMs, isEnding);
  if (late !== undefined) return late;
  const given = handed(snapshot);
  if (given === undefined) return undefined;
  const isTold = trustIds.every((id) => given.trustIds.includes(id));
  if (isTold ? given.knownForMs >= rereadWithinMs : isEnding) return undefined;
  if (isOfEarlier(snapshot, given))
    return `Secret ${given.secretName}, which cert-manager fills, does not say whom clients are to trust besides; ${insteadOfEarlier(snapshot, given)}`;
  return isOurs(snapshot, given)
    ? `Secret ${given.secretName} has to say for ${rereadWithinMs / 1_000} s whom clients are to trust besides`
    : undefined;
}

/** What applications have been given, if anything. */
function handed(snapshot: ClusterSnapshot): SeenCertificate | undefined {
  const { certificates, cluster } = snapshot;
  if (providerOf(cluster.spec, "client") === "Operator") return seen(snapshot, "application");
  return certificates?.handout?.is === "present" ? certificates.handout.value : undefined;
}

/** All members show it. Whoever is let in by a former authority alone has to show something else before that is trusted no more. */
function handing(snapshot: ClusterSnapshot, shown: SeenCertificate): Course {
  const { peers, cluster, rereadWithinMs } = snapshot;
  const ids = new Set(shown.trustIds);
  const isMore = (trust: string) => trust !== shown.trust && parsedIn(trust).some((each) => !ids.has(idOf(each)));
  const inUse = peers.map(({ spec }) => spec.tls?.client?.trust ?? "");
  // What has been begun is gone on with.
  if (inUse.some((trust) => !isMore(trust)) || !areClientsVerified(cluster.spec)) return SETTLED;
  const both = united(...trustInUse(snapshot, "client"), shown.trust);
  const operator = usable(snapshot, "operator");
  if (!showsAsked(snapshot) || operator === undefined || !vouches(shown.trust, operator))
    return { at: "hand", both, why: `the operator goes over to Secret ${secretNameOf(cluster, "operator")}` };
  // Whom no member believes any more nobody is waited for.
  const isBelieved = (signerId: string) =>
    vouches(shown.trust, { signerId, trust: both }) || !vouches(both, { signerId, trust: both });
  const late = whyBindingFormer(snapshot, isBelieved, snapshot.takenAtMs - shown.signerForMs);
  if (late !== undefined) return { at: "hand", both, why: late };
  const given = handed(snapshot);
  if (given === undefined || !(isOurs(snapshot, given) || isOfEarlier(snapshot, given))) return SETTLED;
  const name = applicationCertificateName(cluster.metadata.name);
  if (!vouches(shown.trust, given)) {
    const asks = `delete it once no application shows it: then nobody is let in by it any more`;
    const waits = "applications are about to get another one";
    const isTheirs = providerOf(cluster.spec, "client") === "Secret";
    if (isOfEarlier(snapshot, given))
      return {
        at: "hand",
        both,
        why: `Secret ${name} is signed by a former authority; ${insteadOfEarlier(snapshot, given)}`,
      };
    return { at: "hand", both, why: `Secret ${name} is signed by a former authority; ${isTheirs ? asks : waits}` };
  }
  if (given.signerForMs >= rereadWithinMs) return SETTLED;
  return { at: "hand", both, why: `Secret ${name} has to be for ${rereadWithinMs / 1_000} s what applications show` };
}

/** What a person can do about it: it is written by nobody but cert-manager. */
function insteadOfEarlier({ cluster }: ClusterSnapshot, { secretName }: SeenCertificate): string {
  const both = `delete Certificate ${secretName} and the Secret`;
  return providerOf(cluster.spec, "client") === "Secret"
    ? `${both} once applications show what people bring, and trust whom ConfigMap ${trustConfigMapName(cluster.metadata.name)} names`
    : `${both}: then applications get another one`;
}
