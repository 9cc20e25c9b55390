import type { Scheme } from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { recordedChange } from "#cluster-tls/change/changes.ts";
import { servedStatus } from "#cluster-tls/change/client-scheme.ts";
import { listensBy } from "#cluster-tls/change/peer-scheme.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { abandonedName, previousTls, sourcesInUse } from "#cluster-tls/effective/previous.ts";
import { purposesOf, SHOWN_ON, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isWithheld } from "#cluster-tls/read/usable.ts";

type TlsStatus = NonNullable<EtcdClusterStatus["tls"]>;

/** `status.tls`: how members are reached, the source of certificates, the progress of a change, and the certificates. */
export function tlsStatus(given: ClusterSnapshot): Pick<EtcdClusterStatus, "tls"> {
  const snapshot = effectiveTls(given);
  const issuedBy = sourcesInUse(snapshot);
  const peer = compact({ scheme: peerScheme(given), issuedBy: issuedBy.peer, change: recordedChange(given, "peer") });
  const client = compact({
    ...servedStatus(given),
    issuedBy: issuedBy.client,
    change: recordedChange(given, "client"),
  });
  const certificates = certificatesOf(snapshot);
  const tls = compact({ peer, client, certificates: certificates.length === 0 ? undefined : certificates });
  return tls === undefined ? {} : { tls: tls as TlsStatus };
}

/** The fields that are set; `undefined` when none is. */
function compact(fields: object): object | undefined {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

/** The scheme by which members reach every other member, for readers of the status. */
function peerScheme({ cluster, peers, pods }: ClusterSnapshot): Scheme | undefined {
  const recorded = cluster.status?.tls?.peer?.scheme;
  if (peers.length === 0 || (cluster.spec.tls === undefined && recorded === undefined)) return recorded;
  const isReached = peers.every(({ metadata, spec }) => {
    const pod = pods.get(metadata.name);
    return (pod === undefined ? reachedBy(spec) : listensBy(pod)) === "https";
  });
  return isReached ? "https" : "http";
}

/** The certificates as they were last read; for those that could not be read, the previous status. */
function certificatesOf(snapshot: ClusterSnapshot): NonNullable<TlsStatus["certificates"]> {
  const before = snapshot.cluster.status?.tls?.certificates ?? [];
  const views = [snapshot, previousTls(snapshot)].flatMap((view) => view ?? []);
  const managed = views.flatMap((view) =>
    purposesOf(view.cluster).flatMap((purpose) => {
      const found = view.certificates?.[purpose];
      if (found === undefined || found.is === "unknown")
        return before.filter(({ name }) => name === secretNameOf(view.cluster, purpose));
      if (found.is === "absent") return [];
      // A Secret without consent is not recorded: status would then grant its use.
      if (isWithheld(view, purpose, found.value) === "refused") return [];
      return recordOf(found.value);
    }),
  );
  // A certificate of an abandoned change is not renewed, but is in use.
  const abandoned = SIDES.flatMap((side) => {
    const found = snapshot.certificates?.abandoned?.[SHOWN_ON[side]];
    const name = abandonedName(snapshot.cluster, snapshot, side);
    if (found?.is !== "present") return before.filter((each) => found?.is !== "absent" && each.name === name);
    return recordOf(found.value);
  });
  // Both snapshots may have the same Secret.
  return [...new Map([...managed, ...abandoned].map((each) => [each.name, each])).values()];
}

function recordOf({ secretName: name, notAfterMs, issuerName: issuer, trustIds }: SeenCertificate) {
  if (notAfterMs === 0) return [];
  return [{ name, notAfter: rfc3339(notAfterMs), issuer, ...(trustIds.length === 0 ? {} : { trust: [...trustIds] }) }];
}
