import { applicationCertificateName, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { areClientsVerified, providerOf, type Side } from "#api/tls.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { type ClusterSnapshot, isOwned, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { whyBindingsLackCa, whyBindingsUsePreviousCa } from "#cluster-tls/change/bindings.ts";
import { type CertificateProblem, certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { membersWithoutCa, mergeBundles, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { certificateIn, usesRequestedCertificate } from "#cluster-tls/effective/previous.ts";
import { leavesOf, SHOWN_ON, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isOurs, isUnverified, seen, usable, whyTooLong } from "#cluster-tls/read/usable.ts";
import { isCaEnding } from "./ca-end.ts";

// How do members move to certificates of another source, while all members and clients stay connected?
//   Stage waiting: the requested certificates must exist and be valid. Until then nothing changes.
//   Stage trust: members restart one at a time to trust the CAs of both. Clients get both CAs, too.
//   Stage tell: wait for clients to reload the bundle, as long as in a CA rotation. Clients that cannot get it are
//   waited for until the current certificate is about to expire.
//   Stage show: members restart one at a time to use the new certificate.
//   Stage hand: the operator and applications move to the new certificate.
//   Stage settled: the previous CA is no longer trusted; members restart one at a time.
// Progress is derived from EtcdPeers, pods, Secrets and status.tls. A stage that an EtcdPeer has begun is
// continued, whatever times a restarted operator has counted, so members never alternate between two certificates.

export type ProviderChange =
  | { readonly at: "settled" }
  | {
      readonly at: "waiting" | "trust" | "tell" | "show" | "hand";
      readonly why: string;
      /**
       * Every CA that signs a certificate in use during the change, in PEM. While `waiting`: the CAs that members trust
       * now.
       */
      readonly both: string;
    };

const SETTLED: ProviderChange = { at: "settled" };

/** The stage of the provider change, for each side. */
export const providerChanges = remembered(
  (snapshot): { readonly peer: ProviderChange; readonly client: ProviderChange } => {
    const client = providerChangeOf(snapshot, "client");
    return { peer: providerChangeOf(snapshot, "peer", client), client };
  },
);

/** The CAs that clients have to trust during the change. `undefined` when the members' own bundle is enough. */
export function bundleOfBoth(change: ProviderChange): string | undefined {
  return "both" in change ? change.both : undefined;
}

/** @param other the stage of the other side: one restart can serve both */
function providerChangeOf(snapshot: ClusterSnapshot, side: Side, other?: ProviderChange): ProviderChange {
  const name = secretNameOf(snapshot.cluster, SHOWN_ON[side]);
  const inUse = secretsInUse(snapshot, side);
  const shown = usable(snapshot, SHOWN_ON[side]);
  if (name === undefined || inUse.size === 0) return SETTLED;
  const others = [...inUse].filter((each) => each !== name);
  if (others.length === 0) return side === "peer" || shown === undefined ? SETTLED : clientsMoving(snapshot, shown);
  const why = whyNotWhole(snapshot, side);
  const inTrust = trustInUse(snapshot, side);
  const waiting = (because: string): ProviderChange => ({
    at: "waiting",
    both: mergeBundles(...inTrust),
    why: because,
  });
  if (why !== undefined || shown === undefined) return waiting(why ?? `Secret ${name} is being read`);
  const both = mergeBundles(...inTrust, shown.trust);
  const excess = whyTooLong(both);
  if (excess !== undefined)
    return waiting(`the certificates in ca.crt of Secret ${name} and those that members trust now have ${excess}`);
  const lacking = membersWithoutCa(snapshot, side, shown.trustIds, both);
  if (lacking.length > 0)
    return { at: "trust", both, why: `${lacking.join(", ")} ${does(lacking)} not trust both yet` };
  if (!hasBegun(snapshot, side)) {
    const isAhead = other?.at === "trust" || other?.at === "tell";
    const isEnding = others.some((each) => isWorthless(snapshot, side, each));
    const untold = side === "client" ? whyClientsLackCa(snapshot, shown, isEnding) : isAhead ? other.why : undefined;
    if (untold !== undefined) return { at: "tell", both, why: untold };
  }
  return { at: "show", both, why: `members still use Secret ${others.join(", ")}` };
}

/** Whether some member's EtcdPeer has the requested Secret. From then on members do not return to the previous one. */
export function hasBegun({ cluster, peers }: ClusterSnapshot, side: Side): boolean {
  const name = secretNameOf(cluster, SHOWN_ON[side]);
  return name !== undefined && peers.some(({ spec }) => spec.tls?.[side]?.secretName === name);
}

function does(names: readonly string[]): string {
  return names.length === 1 ? "does" : "do";
}

/** Problems of the requested certificates of members and the operator. */
function problemsOf(snapshot: ClusterSnapshot, side: Side): readonly CertificateProblem[] {
  const purposes = leavesOf(snapshot.cluster, side).filter((purpose) => purpose !== "application");
  return purposes.flatMap((purpose) => certificateProblem(snapshot, purpose) ?? []);
}

/** Why the requested certificates cannot be used yet. */
function whyNotWhole(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const [problem] = problemsOf(snapshot, side);
  if (problem !== undefined) return problem.message;
  if (side === "peer") return undefined;
  if (usable(snapshot, "server") === undefined || usable(snapshot, "operator") === undefined)
    return "certificates are being read";
  return whyMismatched(snapshot) ?? whyStranger(snapshot);
}

/** Why members and the operator would reject each other's requested certificates. */
function whyMismatched(snapshot: ClusterSnapshot): string | undefined {
  const [server, operator] = [usable(snapshot, "server"), usable(snapshot, "operator")];
  if (server === undefined || operator === undefined) return undefined;
  if (!isUnverified(snapshot, "operator") && !vouches(server.trust, operator))
    return `Secret ${operator.secretName}: the CA that signed its tls.crt is not in ca.crt of Secret ${server.secretName}, so members would reject the operator`;
  if (!vouches(operator.trust, server))
    return `Secret ${server.secretName}: the CA that signed its tls.crt is not in ca.crt of Secret ${operator.secretName}, so the operator would reject members`;
  return undefined;
}

/**
 * Problems that only a user can fix before members can use the requested certificates. `undefined` when there are none,
 * or none is known.
 */
export function whyUserMustAct(snapshot: ClusterSnapshot, side: Side): string | undefined {
  if (providerChanges(snapshot)[side].at !== "waiting") return undefined;
  const problems = problemsOf(snapshot, side);
  const theirs = problems.filter(({ needsUser }) => needsUser).map(({ message }) => message);
  if (theirs.length > 0) return [...new Set(theirs)].join("; ");
  return side === "client" ? whyMismatched(snapshot) : undefined;
}

/**
 * Whether it is merely unknown if the requested certificates can be used: a Secret could not be read, or etcd did not
 * answer.
 */
export function isUnread(snapshot: ClusterSnapshot, side: Side): boolean {
  const isEtcdSilent = side === "client" && snapshot.auth?.state.is === "unknown";
  return isEtcdSilent || problemsOf(snapshot, side).some(({ status }) => status === "Unknown");
}

/** Whether the certificate in this Secret has expired, or its CA is about to. */
function isWorthless(snapshot: ClusterSnapshot, side: Side, secretName: string): boolean {
  const found = certificateIn(snapshot, side, secretName);
  return found !== undefined && isCaEnding(found, snapshot.takenAtMs);
}

/**
 * What still has to publish the new CAs to clients, or has not done so for long enough. Objects that the operator does
 * not write are not waited for.
 * @param isEnding whether late clients are no longer waited for
 */
function whyClientsLackCa(
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
      return `ConfigMap ${name} has to list the new CA in ca.crt for ${rereadWithinMs / 1_000} s`;
  }
  const late = whyBindingsLackCa(snapshot, trustIds, takenAtMs - knownForMs, isEnding);
  if (late !== undefined) return late;
  const given = publishedCertificate(snapshot);
  if (given === undefined) return undefined;
  const isTold = trustIds.every((id) => given.trustIds.includes(id));
  if (isTold ? given.knownForMs >= rereadWithinMs : isEnding) return undefined;
  return isOurs(snapshot, given)
    ? `Secret ${given.secretName} has to list the new CA in ca.crt for ${rereadWithinMs / 1_000} s`
    : undefined;
}

/** The certificate in the Secret of applications, if any. */
function publishedCertificate(snapshot: ClusterSnapshot): SeenCertificate | undefined {
  const { certificates, cluster } = snapshot;
  if (providerOf(cluster.spec, "client") === "Operator") return seen(snapshot, "application");
  return certificates?.clientSecret?.is === "present" ? certificates.clientSecret.value : undefined;
}

/**
 * Stage when all members use the requested certificate. Clients with a certificate of the previous CA have to replace
 * it before members stop trusting that CA.
 */
function clientsMoving(snapshot: ClusterSnapshot, shown: SeenCertificate): ProviderChange {
  const { peers, cluster, rereadWithinMs } = snapshot;
  const ids = new Set(shown.trustIds);
  const isMore = (trust: string) => trust !== shown.trust && parsedIn(trust).some((each) => !ids.has(idOf(each)));
  const inUse = peers.map(({ spec }) => spec.tls?.client?.trust ?? "");
  // Continue with the restarts that drop the previous CA.
  if (inUse.some((trust) => !isMore(trust)) || !areClientsVerified(cluster.spec)) return SETTLED;
  const both = mergeBundles(...trustInUse(snapshot, "client"), shown.trust);
  const operator = usable(snapshot, "operator");
  if (!usesRequestedCertificate(snapshot) || operator === undefined || !vouches(shown.trust, operator))
    return { at: "hand", both, why: `the operator is about to use Secret ${secretNameOf(cluster, "operator")}` };
  // A client with a CA that no member trusts is cut off already: it is not waited for.
  const isAccepted = (signerId: string) =>
    vouches(shown.trust, { signerId, trust: both }) || !vouches(both, { signerId, trust: both });
  const late = whyBindingsUsePreviousCa(snapshot, isAccepted, snapshot.takenAtMs - shown.signerForMs);
  if (late !== undefined) return { at: "hand", both, why: late };
  const given = publishedCertificate(snapshot);
  if (given === undefined || !isOurs(snapshot, given)) return SETTLED;
  const name = applicationCertificateName(cluster.metadata.name);
  if (!vouches(shown.trust, given)) {
    const asks = `delete it once no application uses it: then its certificate is no longer accepted`;
    const waits = "applications are about to get a new certificate";
    const isTheirs = providerOf(cluster.spec, "client") === "Secret";
    return {
      at: "hand",
      both,
      why: `the certificate in Secret ${name} is signed by the previous CA; ${isTheirs ? asks : waits}`,
    };
  }
  if (given.signerForMs >= rereadWithinMs) return SETTLED;
  return { at: "hand", both, why: `Secret ${name} has to hold its new certificate for ${rereadWithinMs / 1_000} s` };
}
