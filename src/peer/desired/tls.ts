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

// How does a renewed certificate reach etcd, and how a new CA?
//   The kubelet updates the Secret's files in the running pod, and etcd reads certificate and key at each handshake. It
//   reads CAs only when it starts. They are in the pod's template, so a pod trusts the CAs of its template, and is
//   restarted for a new CA. No event reports that the kubelet has updated a Secret's files. Where that matters, during
//   a CA rotation, the template has the signer. A changed template makes a new pod, which has the Secret's content of
//   that time or later.
// How does a member distinguish other members from strangers?
//   By CA and name: a certificate must be valid for the member's own name, and all members share one that is. Without
//   the name, any certificate of a CA that also signs for others could join. By default etcd checks that the client's
//   address belongs to a name of its certificate. DNS has a new pod's address only after a while, so that check is
//   switched off.

type Tls = Pick<EtcdPeerSpec, "tls">;
type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/**
 * Environment for `etcdctl` in etcd's container, so that it works without TLS flags. A flag given in addition to its
 * variable is an error. The endpoint is left to the user. etcd itself reads none of them.
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
    ...(client === undefined ? {} : clientVariables(client.clientCertificates === "Required")),
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

/** The trusted CA is set only where client certificates are required: with a CA, etcd requests them in any case. */
function clientVariables(areRequired: boolean): Record<string, string> {
  return {
    ETCD_CERT_FILE: `${CLIENT_TLS_PATH}/${CERTIFICATE_FILE}`,
    ETCD_KEY_FILE: `${CLIENT_TLS_PATH}/${KEY_FILE}`,
    ...(areRequired ? { ETCD_TRUSTED_CA_FILE: `${CLIENT_TLS_PATH}/${TRUST_FILE}`, ETCD_CLIENT_CERT_AUTH: "true" } : {}),
  };
}

/**
 * Annotations with the CAs that the member trusts, the signer of its certificates, and the schemes for peers and for
 * the operator.
 */
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

/** Readable only for the group of the pod's volumes. */
const MODE = 0o440;

/** A volume with certificate and key from the Secret, and the trusted CAs from the pod's annotation. */
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
