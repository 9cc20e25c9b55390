import { z } from "zod";
import { MAX_BUNDLE_LENGTH } from "#api/bundle.ts";
import { durationSchema, SET } from "#api/common-schema.ts";
import { TLS_LABEL } from "#api/names.ts";
import { secretName } from "#api/v1beta1/reference-schema.ts";

const PROVIDERS = ["Operator", "CertManager", "Secret", "None"] as const;
const PROVIDER =
  "Operator: from the cluster's own CAs, which the operator makes and renews. CertManager: from an issuer of cert-manager. Secret: from Secrets that are filled and renewed by something other than the operator. None: no TLS.";

/**
 * Maximum number of extra names, more than a certificate should have. The API server needs a bound to estimate the cost
 * of CEL rules.
 */
const MAX_EXTRA_NAMES = 32;

const LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const DNS_NAME = `^([*][.])?${LABEL}([.]${LABEL})*$`;
const BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = `^(${BYTE}[.]){3}${BYTE}$`;
/**
 * Pattern of characters only. The webhook checks IPv6 addresses exactly, because the oldest supported API server has no
 * CEL function for it.
 */
const IPV6 = "^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$";
const extraName = z
  .string()
  .min(1)
  .max(253)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `self.matches('${IPV4}') || self.matches('${IPV6}') || (self.matches('${DNS_NAME}') && !self.matches('^[0-9.]+$'))`,
        messageExpression:
          "'it is ' + self + '; it must be a DNS name in small letters, such as etcd.example.com or *.example.com, or an IP address'",
        message: "it must be a DNS name in small letters, such as etcd.example.com or *.example.com, or an IP address",
      },
    ],
  });

const certManagerSchema = z
  .object({
    issuerRef: z
      .object({
        name: z.string().min(1).max(253).describe("Name of the issuer."),
        kind: z.string().min(1).max(63).default("Issuer").describe("Issuer, of the same namespace, or ClusterIssuer."),
        group: z
          .string()
          .min(1)
          .max(253)
          .default("cert-manager.io")
          .describe("API group of the issuer; a different group for an issuer that is not part of cert-manager."),
      })
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self.group != 'cert-manager.io' || self.kind in ['Issuer', 'ClusterIssuer']",
            messageExpression:
              "'kind is ' + self.kind + '; in the group cert-manager.io it must be Issuer or ClusterIssuer'",
            message: "kind must be Issuer or ClusterIssuer in the group cert-manager.io",
          },
        ],
      })
      .describe("The issuer that signs, as in a Certificate."),
  })
  .describe("Required with provider CertManager, and not allowed with any other.");

/** Lifetime of a certificate that the operator issues or requests. */
const life = {
  duration: durationSchema("10m", "87600h")
    .optional()
    .describe("How long a certificate is valid, such as 2160h, which is the default."),
  renewBefore: durationSchema("5m", "87600h")
    .optional()
    .describe("How long before its expiry a certificate is renewed. Without it a third of duration."),
};

const IS_ISSUED = "self.provider in ['Operator', 'CertManager']";

/** Label that a Secret from outside the operator must have, for messages. */
const LABELLED = `the label ${TLS_LABEL}: "true"`;

/** Rules for fields that belong to one provider only. @param side for the messages */
function providerRules(side: "peer" | "client") {
  return [
    {
      rule: "has(self.certManager) == (self.provider == 'CertManager')",
      messageExpression: `'${side}.certManager ' + (has(self.certManager) ? 'is given' : 'is missing') + ', and provider is ' + self.provider + '; it must be given with CertManager, and with nothing else'`,
      message: `${side}.certManager must be given with provider CertManager, and with nothing else`,
    },
    {
      rule: "has(self.secret) == (self.provider == 'Secret')",
      messageExpression: `'${side}.secret ' + (has(self.secret) ? 'is given' : 'is missing') + ', and provider is ' + self.provider + '; it must be given with Secret, and with nothing else'`,
      message: `${side}.secret must be given with provider Secret, and with nothing else`,
    },
    {
      rule: `${IS_ISSUED} || (!has(self.duration) && !has(self.renewBefore))`,
      messageExpression: `'${side}.duration or renewBefore is given, and provider is ' + self.provider + '; they must be left out: with Operator and CertManager alone the operator says how long a certificate is good'`,
      message: `${side}.duration and renewBefore go with the providers Operator and CertManager alone`,
    },
    {
      rule: "!has(self.renewBefore) || duration(self.renewBefore) < duration(has(self.duration) ? self.duration : '2160h')",
      messageExpression: `'${side}.renewBefore is ' + self.renewBefore + '; it must be less than duration, which is ' + (has(self.duration) ? self.duration : '2160h')`,
      message: `${side}.renewBefore must be less than duration`,
    },
    {
      rule: "self.provider != 'CertManager' || ((!has(self.duration) || duration(self.duration) >= duration('1h')) && (!has(self.renewBefore) || duration(self.renewBefore) >= duration('5m')))",
      message: `${side}: cert-manager takes no duration below 1h, and no renewBefore below 5m`,
    },
  ];
}

/** A Secret of the same namespace. @param what its content and use */
function secretSchema(what: string) {
  return z.object({ name: secretName.describe("Name of the Secret.") }).describe(what);
}

const peerSchema = z
  .object({
    provider: z.enum(PROVIDERS).default("Operator").describe(PROVIDER),
    certManager: certManagerSchema.optional(),
    secret: secretSchema(
      `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: the certificate that all members show to each other, and the CAs that they trust. Required with provider Secret, and not allowed with any other.`,
    ).optional(),
    ...life,
  })
  .meta({ "x-kubernetes-validations": providerRules("peer") })
  .describe("Between members: each shows a certificate to the others.");

const clientCertificates = z.enum(["Required", "NotRequired"]).default("Required");

const clientSchema = z
  .object({
    provider: z.enum(PROVIDERS).default("Operator").describe(PROVIDER),
    certManager: certManagerSchema.optional(),
    secret: z
      .object({
        server: secretSchema(
          `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: the certificate that members show to clients, and the CAs of clients' certificates.`,
        ),
        operator: secretSchema(
          `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: the certificate that the operator shows to members, and the CAs of their certificates.`,
        ),
      })
      .optional()
      .describe("Required with provider Secret, and not allowed with any other."),
    clientCertificates: clientCertificates.describe(
      "Required: members refuse a client without a certificate. NotRequired: members do not ask clients for one. spec.auth needs Required.",
    ),
    extraNames: z
      .array(extraName)
      .max(MAX_EXTRA_NAMES)
      .meta(SET)
      .optional()
      .describe(
        "Further names and IP addresses by which clients reach members, for their certificate. The names in the Kubernetes cluster and localhost are always in it.",
      ),
    plaintextFor: durationSchema("0s", "8760h")
      .optional()
      .describe(
        "How long clients are served both with and without TLS, at the same port, when the provider changes from or to None. The time starts when every member serves both. Default: 1h.",
      ),
    ...life,
  })
  .meta({
    "x-kubernetes-validations": [
      ...providerRules("client"),
      {
        rule: `${IS_ISSUED} || !has(self.extraNames) || size(self.extraNames) == 0`,
        messageExpression:
          "'client.extraNames is given, and provider is ' + self.provider + '; it must be left out: with Operator and CertManager alone the operator says which names a certificate carries'",
        message: "client.extraNames needs the provider Operator or CertManager",
      },
    ],
  })
  .describe("Between members and their clients, the operator among them.");

/**
 * Cipher suites that HTTP/2 allows below TLS 1.3. etcd does not let TLS 1.3 suites be configured.
 * https://www.rfc-editor.org/rfc/rfc7540#appendix-A
 */
const CIPHER_SUITES = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
] as const;

/** TLS settings of members that EtcdCluster and EtcdPeer have in common. */
const protocol = {
  cipherSuites: z
    .array(z.enum(CIPHER_SUITES))
    .min(1)
    .max(CIPHER_SUITES.length)
    .meta(SET)
    .optional()
    .describe("Cipher suites that members accept below TLS 1.3. Without it etcd's default."),
};

const minVersion = z.enum(["TLS1.2", "TLS1.3"]);

const CIPHER_RULES = [
  {
    rule: "!has(self.cipherSuites) || self.cipherSuites.exists(each, each.endsWith('_WITH_AES_128_GCM_SHA256'))",
    message:
      "tls.cipherSuites must hold TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: HTTP/2 asks for one of them, and without it etcd serves no client",
  },
  {
    rule: "!has(self.cipherSuites) || !has(self.minVersion) || self.minVersion == 'TLS1.2'",
    message:
      "tls.cipherSuites is given, and tls.minVersion is TLS1.3, which has no choice of suites; give only one of them",
  },
];

/** `spec.tls` of an EtcdCluster. */
export const clusterTlsSchema = z
  .object({
    peer: peerSchema.default({ provider: "Operator" }),
    client: clientSchema.default({ provider: "Operator", clientCertificates: "Required" }),
    minVersion: minVersion.default("TLS1.2").describe("The oldest version of TLS that members accept."),
    ...protocol,
  })
  .meta({ "x-kubernetes-validations": CIPHER_RULES })
  .describe(
    "TLS between members, and with their clients. A new cluster without it gets provider Operator on both sides, which the operator writes here. An existing cluster without it is not encrypted.",
  );

/** CEL expression: whether an EtcdCluster has TLS for peers or clients. @param object self or oldSelf, its spec */
function anyTls(object: "self" | "oldSelf"): string {
  return `(has(${object}.tls) && (${object}.tls.peer.provider != 'None' || ${object}.tls.client.provider != 'None'))`;
}

// Why may the provider change?
//   Members first trust both CAs, then present the new certificates, and then drop the old CA. They use TLS throughout.
/** Rules on updates of an EtcdCluster's spec. */
export const TLS_STAYS = [
  {
    // A manifest without spec.tls that replaces the object is not taken as a request to turn TLS off.
    rule: `has(self.tls) || !${anyTls("oldSelf")}`,
    message:
      "tls is missing, and was given; it must be given. For a cluster that was made without it, the operator has written it: see kubectl get etcdcluster NAME -o jsonpath={.spec.tls}; kubectl apply leaves it alone",
  },
];

const side = {
  secretName: secretName.describe("Secret with tls.crt and tls.key: the certificate that the member shows."),
  trust: z
    .string()
    .min(1)
    .max(MAX_BUNDLE_LENGTH)
    .describe("The CA certificates, in PEM, that must have signed the certificates of connecting members and clients."),
  signer: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe(
      "SHA-256 of the CA certificate that signs the certificate in the Secret. Set only if the operator issues it, and only during a CA rotation.",
    ),
};

/** `spec.tls` of an EtcdPeer: the part of the EtcdCluster's TLS configuration that the member has received. */
export const memberTlsSchema = z
  .object({
    peer: z
      .object({
        ...side,
        scheme: z
          .enum(["http", "https"])
          .optional()
          .describe(
            "How other members reach this one; https without it. http: the member has a certificate, and uses TLS to members that are reached by https.",
          ),
      })
      .optional()
      .describe("TLS between members. Without it their traffic is not encrypted."),
    client: z
      .object({
        ...side,
        clientCertificates: clientCertificates.describe("Required: the member refuses a client without a certificate."),
        plaintext: z.boolean().optional().describe("Whether clients are also served without TLS, at the same port."),
      })
      .optional()
      .describe("TLS with clients. Without it their traffic is not encrypted."),
    minVersion: minVersion.optional().describe("The oldest version of TLS that the member accepts."),
    ...protocol,
  })
  .describe("Certificates of the member. A change of trust or signer restarts it, a renewed certificate does not.");
