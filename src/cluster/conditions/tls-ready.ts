import { trustConfigMapName } from "#api/names.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { faultOf, revokedFault } from "#cluster/certificates/fault.ts";
import { betweenName, formerTls, tlsInUse } from "#cluster/certificates/former.ts";
import { formerFaults } from "#cluster/certificates/former-fault.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { purposesOf, SHOWN_ON, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { renewalTroubles } from "#cluster/certificates/renewal.ts";
import { rotationWait } from "#cluster/certificates/rotation.ts";
import { isWithheld, seen } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { courseText } from "./tls-change.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Are all certificates there, good, and trusted by the members? It is told of clusters that ask for TLS, and afterwards that it is over. */
export function tlsReady({ snapshot: given, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const snapshot = keptTls(given);
  const purposes = purposesOf(snapshot.cluster);
  if (purposes.length === 0) return disabled(given);
  // What is in use comes first, also where the spec asks for something else by now.
  const wrong = [...formerFaults(snapshot), ...purposes.flatMap((purpose) => faultOf(snapshot, purpose) ?? [])];
  const revoked = revokedFault(snapshot);
  const faults = revoked === undefined ? wrong : [...wrong, revoked];
  const refused = plan.aside?.find(({ rule, is }) => MAKERS.has(rule) && is === "refused");
  if (refused !== undefined && faults.length > 0) {
    const right = missingRightText(refused.because);
    return {
      status: "False",
      reason: right === undefined ? "StepRefused" : "RightMissing",
      message: `${refused.rule}: ${right ?? refused.because}`,
    };
  }
  // What is known to be wrong counts more than what nobody knows.
  const first =
    faults.find(({ isForPeople }) => isForPeople) ?? faults.find(({ status }) => status === "False") ?? faults[0];
  const course = courseText(snapshot);
  if (first === undefined && course !== undefined)
    return { status: "False", reason: "CertificatesChanging", message: course };
  if (first === undefined) return { status: "True", reason: "CertificatesValid", message: endsText(snapshot) };
  const alike = faults.filter(({ status }) => status === first.status);
  return {
    status: first.status,
    reason: first.reason,
    message: [...new Set(alike.map(({ message }) => message))].join("; "),
  };
}

/** What was said last would stay for ever, whether it was good or bad. */
function disabled({ cluster }: ClusterSnapshot): Verdict | undefined {
  const { deletionTimestamp, name } = cluster.metadata;
  const isToldBefore = cluster.status?.conditions?.some(({ type }) => type === "TLSReady") ?? false;
  if (deletionTimestamp !== undefined || !isToldBefore) return undefined;
  const left = `the operator deletes no Secret: those that it filled, and ConfigMap ${trustConfigMapName(name)}, may be deleted`;
  return { status: "True", reason: "TLSDisabled", message: `no member speaks TLS any more; ${left}` };
}

const MAKERS = new Set(["authority", "leaf", "certificate-request", "hand-out", "rotate-authority"]);

function endsText(snapshot: ClusterSnapshot): string {
  const all = purposesOf(snapshot.cluster).flatMap((purpose) => seen(snapshot, purpose) ?? []);
  const [first] = all.toSorted((a, b) => a.notAfterMs - b.notAfterMs);
  const good = `${all.length} certificates are good; the first one to end, in Secret ${first?.secretName}, does at ${rfc3339(first?.notAfterMs ?? 0)}`;
  const waits = SIDES.flatMap((side) => rotationWait(snapshot, side) ?? []);
  return [good, ...waits, ...renewalTroubles(snapshot)].join("; ");
}

/** What the certificates are, as they were last read; of what could not be read, what was on record. */
export function certificateStatus(given: ClusterSnapshot): Pick<EtcdClusterStatus, "certificates" | "issuedBy"> {
  const snapshot = keptTls(given);
  const before = given.cluster.status?.certificates ?? [];
  const views = [snapshot, formerTls(snapshot)].flatMap((view) => view ?? []);
  const told = views.flatMap((view) =>
    purposesOf(view.cluster).flatMap((purpose) => {
      const found = view.certificates?.[purpose];
      if (found === undefined || found.is === "unknown")
        return before.filter(({ name }) => name === secretNameOf(view.cluster, purpose));
      if (found.is === "absent") return [];
      // Whom the cluster has on record keeps what it has, so nobody comes there by being named.
      if (isWithheld(view, purpose, found.value) === "refused") return [];
      return statusOf(found.value);
    }),
  );
  // What some show that was asked for in between is nobody's to renew, and in use all the same.
  const between = SIDES.flatMap((side) => {
    const found = snapshot.certificates?.between?.[SHOWN_ON[side]];
    const name = betweenName(snapshot.cluster, snapshot, side);
    if (found?.is !== "present") return before.filter((each) => found?.is !== "absent" && each.name === name);
    return statusOf(found.value);
  });
  // Both may have one in common.
  const certificates = [...new Map([...told, ...between].map((each) => [each.name, each])).values()];
  return { ...(certificates.length === 0 ? {} : { certificates }), ...tlsInUse(snapshot) };
}

function statusOf({ secretName: name, notAfterMs, issuerName: issuer, trustIds }: SeenCertificate) {
  if (notAfterMs === 0) return [];
  return [{ name, notAfter: rfc3339(notAfterMs), issuer, ...(trustIds.length === 0 ? {} : { trust: [...trustIds] }) }];
}
