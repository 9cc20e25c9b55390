import { isStale, withHash } from "#api/applied-hash.ts";
import { givenText, withGiven, withoutGiven } from "#api/given-metadata.ts";
import { clusterLabels, TRUST_FILE, trustConfigMapName } from "#api/names.ts";
import { issuerOf, lifeOf } from "#api/tls.ts";
import { fingerprint } from "#base/hash.ts";
import { isAddress } from "#certificates/names.ts";
import { ownedBy } from "#cluster/owned.ts";
import type { ClusterSnapshot, LeafPurpose } from "#cluster/snapshot.ts";
import { orderOf, secretNameOf, sideOf } from "#cluster-tls/read/purposes.ts";
import { apiVersionOf, CERTIFICATES, type Certificate, CONFIG_MAPS, type ConfigMap, type Draft } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";

/**
 * The ConfigMap for clients that only verify servers.
 * @param trust the CAs, in PEM
 */
export function trustMap(snapshot: ClusterSnapshot, trust: string): Draft<ConfigMap> {
  const { metadata, spec } = snapshot.cluster;
  const { namespace, name } = metadata;
  return withHash<ConfigMap>({
    apiVersion: apiVersionOf(CONFIG_MAPS),
    kind: CONFIG_MAPS.kind,
    metadata: {
      namespace,
      name: trustConfigMapName(name),
      ...withGiven(clusterLabels(name), spec.caConfigMap?.metadata),
      ownerReferences: [ownedBy(snapshot)],
    },
    data: { [TRUST_FILE]: trust },
  });
}

/** The PUT that turns the live ConfigMap into the desired one. Labels and annotations that people added stay. */
export function trustMapPut(live: ConfigMap, wanted: Draft<ConfigMap>): ConfigMap {
  return replacing(withoutGiven(live), wanted);
}

/** Whether the ConfigMap has to be written: the desired one has changed, or another client changed what it has. */
export function trustMapDiffers(live: ConfigMap, wanted: Draft<ConfigMap>): boolean {
  return (
    isStale(live, wanted) ||
    givenText(live.metadata) !== givenText(wanted.metadata) ||
    live.data?.[TRUST_FILE] !== wanted.data?.[TRUST_FILE]
  );
}

/** The Certificate that cert-manager has to fulfil. */
export function certificateRequest(snapshot: ClusterSnapshot, purpose: LeafPurpose): Draft<Certificate> {
  const { cluster } = snapshot;
  const { namespace, name } = cluster.metadata;
  const side = sideOf(purpose);
  const { commonName, names, usages } = orderOf(cluster, purpose);
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, side);
  const secretName = secretNameOf(cluster, purpose) ?? "";
  return withHash<Certificate>({
    apiVersion: apiVersionOf(CERTIFICATES),
    kind: CERTIFICATES.kind,
    metadata: { namespace, name: secretName, labels: clusterLabels(name), ownerReferences: [ownedBy(snapshot)] },
    spec: {
      secretName,
      issuerRef: issuerOf(cluster.spec, side),
      ...(commonName === undefined ? {} : { commonName }),
      ...namesBy(
        "dnsNames",
        names.filter((each) => !isAddress(each)),
      ),
      ...namesBy("ipAddresses", names.filter(isAddress)),
      usages: ["digital signature", ...usages.map((usage) => (usage === "serverAuth" ? "server auth" : "client auth"))],
      duration: secondsText(durationMs),
      renewBefore: secondsText(renewBeforeMs),
      privateKey: { algorithm: "ECDSA", size: 256, rotationPolicy: "Always" },
    },
  });
}

/** Whether the Certificate has to be written. Fields that cert-manager sets are ignored. */
export function requestDiffers(live: Certificate, wanted: Draft<Certificate>): boolean {
  return isStale(live, wanted) || fingerprint(ours(live.spec)) !== fingerprint(ours(wanted.spec));
}

function ours(spec: Certificate["spec"]) {
  const { secretName, issuerRef, commonName, dnsNames, ipAddresses, usages } = spec ?? {};
  return { secretName, issuerRef, commonName, dnsNames, ipAddresses, usages };
}

function namesBy(field: "dnsNames" | "ipAddresses", names: readonly string[]) {
  return names.length === 0 ? {} : { [field]: names };
}

/** A Go duration in whole seconds. */
function secondsText(ms: number): string {
  return `${Math.floor(ms / 1_000)}s`;
}
