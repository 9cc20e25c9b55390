import {
  CERTIFICATE_FILE,
  CLIENT_SCHEME_ANNOTATION,
  CLIENT_SIGNER_ANNOTATION,
  CLIENT_TLS_PATH,
  CLIENT_TLS_VOLUME,
  CLIENT_TRUST_ANNOTATION,
  KEY_FILE,
  PEER_SCHEME_ANNOTATION,
  PEER_SIGNER_ANNOTATION,
  PEER_TLS_PATH,
  PEER_TLS_VOLUME,
  PEER_TRUST_ANNOTATION,
  TRUST_FILE,
} from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { Pod } from "#kube/kinds.ts";

// How does a renewed certificate reach etcd, and how a new authority?
//   The kubelet brings what is in the Secret into the running pod, and etcd reads certificate and key anew at each handshake. Authorities it
//   reads when it starts, and not again: they stand in the pod's template, so that what a pod trusts is what its template says, and whoever
//   is to trust somebody else is restarted for it (checked against 3.5, 3.6 and 3.7 in test/etcd).
//   When the kubelet brings a Secret nobody is told. Where that counts, while one authority follows another one, the template says who signs
//   now: that makes another pod, which has what the Secret held by then, or something later.
// How does a member tell another one from a stranger?
//   By the authority, and by the name: what it is shown must be good for its own name, as the certificate that all members share is. Without
//   the name, whoever has any certificate of an authority that signs for others, too, could join. etcd would rather look up whether the
//   address of who connects has a name of its certificate; DNS knows a new pod's address only after a while, so that is switched off.

type Tls = Pick<EtcdPeerSpec, "tls">;
type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/**
 * What `etcdctl` in etcd's container needs: whoever may run it there asks as the member may, and types no more than without TLS. It takes its
 * flags from these, and ends when it is given both; which member it asks stays for whoever types it. etcd itself reads none of them.
 */
export function toolVariables({ tls }: Tls): Record<string, string> {
  if (tls?.client === undefined) return {};
  return {
    ETCDCTL_CACERT: `${CLIENT_TLS_PATH}/${TRUST_FILE}`,
    ETCDCTL_CERT: `${CLIENT_TLS_PATH}/${CERTIFICATE_FILE}`,
    ETCDCTL_KEY: `${CLIENT_TLS_PATH}/${KEY_FILE}`,
  };
}

/** @param host the member's name in DNS */
export function tlsVariables({ tls, version }: Tls & Pick<EtcdPeerSpec, "version">, host: string) {
  const { peer, client, minVersion, cipherSuites = [] } = tls ?? {};
  const variables: Record<string, string> = {
    ...(peer === undefined ? {} : peerVariables(version, host)),
    ...(client === undefined ? {} : clientVariables(client.verifyClients)),
    ...(minVersion === "TLS1.3" ? { ETCD_TLS_MIN_VERSION: minVersion } : {}),
    ...(cipherSuites.length === 0 ? {} : { ETCD_CIPHER_SUITES: [...cipherSuites].sort().join(",") }),
  };
  return variables;
}

function peerVariables(version: string, host: string): Record<string, string> {
  const noLookup = version.startsWith("3.5.") ? "ETCD_EXPERIMENTAL_PEER" : "ETCD_PEER";
  return {
    ETCD_PEER_CERT_FILE: `${PEER_TLS_PATH}/${CERTIFICATE_FILE}`,
    ETCD_PEER_KEY_FILE: `${PEER_TLS_PATH}/${KEY_FILE}`,
    ETCD_PEER_TRUSTED_CA_FILE: `${PEER_TLS_PATH}/${TRUST_FILE}`,
    ETCD_PEER_CLIENT_CERT_AUTH: "true",
    ETCD_PEER_CERT_ALLOWED_HOSTNAME: host,
    [`${noLookup}_SKIP_CLIENT_SAN_VERIFICATION`]: "true",
  };
}

/** etcd asks clients for a certificate as soon as it is told an authority, whatever the other flag says. */
function clientVariables(verifyClients: boolean): Record<string, string> {
  return {
    ETCD_CERT_FILE: `${CLIENT_TLS_PATH}/${CERTIFICATE_FILE}`,
    ETCD_KEY_FILE: `${CLIENT_TLS_PATH}/${KEY_FILE}`,
    ...(verifyClients
      ? { ETCD_TRUSTED_CA_FILE: `${CLIENT_TLS_PATH}/${TRUST_FILE}`, ETCD_CLIENT_CERT_AUTH: "true" }
      : {}),
  };
}

/** Whom the member trusts, who has signed what it shows, how the others reach it, and how it is to be asked. */
export function tlsAnnotations({ tls }: Tls): Record<string, string> {
  const { peer, client } = tls ?? {};
  return {
    ...(peer === undefined ? {} : { [PEER_TRUST_ANNOTATION]: peer.trust }),
    ...(peer?.signer === undefined ? {} : { [PEER_SIGNER_ANNOTATION]: peer.signer }),
    ...(client === undefined ? {} : { [CLIENT_TRUST_ANNOTATION]: client.trust, [CLIENT_SCHEME_ANNOTATION]: "https" }),
    ...(client?.signer === undefined ? {} : { [CLIENT_SIGNER_ANNOTATION]: client.signer }),
    ...(reachedBy({ tls }) === "https" ? { [PEER_SCHEME_ANNOTATION]: "https" } : {}),
  };
}

export function tlsVolumes({ tls }: Tls): Volume[] {
  const { peer, client } = tls ?? {};
  return [
    ...(peer === undefined ? [] : [volume(PEER_TLS_VOLUME, peer.secretName, PEER_TRUST_ANNOTATION)]),
    ...(client === undefined ? [] : [volume(CLIENT_TLS_VOLUME, client.secretName, CLIENT_TRUST_ANNOTATION)]),
  ];
}

export function tlsMounts({ tls }: Tls) {
  const { peer, client } = tls ?? {};
  return [
    ...(peer === undefined ? [] : [{ name: PEER_TLS_VOLUME, mountPath: PEER_TLS_PATH, readOnly: true }]),
    ...(client === undefined ? [] : [{ name: CLIENT_TLS_VOLUME, mountPath: CLIENT_TLS_PATH, readOnly: true }]),
  ];
}

/** Readable for the group that the pod's volumes belong to, and for nobody else. */
const MODE = 0o440;

/** What the member shows, from the Secret, beside whom it trusts, from its own annotation. */
function volume(name: string, secretName: string, annotation: string): Volume {
  return {
    name,
    projected: {
      defaultMode: MODE,
      sources: [
        {
          secret: {
            name: secretName,
            items: [CERTIFICATE_FILE, KEY_FILE].map((file) => ({ key: file, path: file })),
          },
        },
        {
          downwardAPI: {
            items: [
              { path: TRUST_FILE, fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` } },
            ],
          },
        },
      ],
    },
  };
}
