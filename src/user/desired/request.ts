import { isStale, withHash } from "#api/applied-hash.ts";
import { bindingCertificateName, bindingLabels } from "#api/names.ts";
import { lifeOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { isSameData } from "#base/hash.ts";
import { apiVersionOf, CERTIFICATES, type Certificate, type Draft, ownerReference } from "#kube/kinds.ts";
import { orderOf } from "#user/credentials.ts";

/** The cert-manager Certificate for a binding. */
export function bindingRequest(user: EtcdUser, cluster: EtcdCluster): Draft<Certificate> {
  const { namespace, name } = user.metadata;
  const secretName = bindingCertificateName(name);
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, "client");
  const { commonName, names } = orderOf(user, cluster);
  const { issuerRef } = cluster.spec.tls?.client.certManager ?? {};
  const { name: issuer = "", kind = "Issuer", group = "cert-manager.io" } = issuerRef ?? {};
  return withHash<Certificate>({
    apiVersion: apiVersionOf(CERTIFICATES),
    kind: CERTIFICATES.kind,
    metadata: {
      namespace,
      name: secretName,
      labels: bindingLabels(name),
      ownerReferences: [ownerReference(ETCD_USERS, user)],
    },
    spec: {
      secretName,
      issuerRef: { name: issuer, kind, group },
      ...(commonName === undefined ? { dnsNames: [...names] } : { commonName }),
      usages: ["digital signature", "client auth"],
      duration: `${Math.floor(durationMs / 1_000)}s`,
      renewBefore: `${Math.floor(renewBeforeMs / 1_000)}s`,
      privateKey: { algorithm: "ECDSA", size: 256, rotationPolicy: "Always" },
    },
  });
}

/** Whether the Certificate has to be written. Fields that cert-manager fills in are ignored. */
export function requestDiffers(live: Certificate, wanted: Draft<Certificate>): boolean {
  return isStale(live, wanted) || !isSameData(ours(live.spec), ours(wanted.spec));
}

function ours(spec: Certificate["spec"]) {
  const { secretName, issuerRef, commonName, dnsNames, usages } = spec ?? {};
  return { secretName, issuerRef, commonName, dnsNames, usages };
}
