import { z } from "zod";
import { MAX_BUNDLE_LENGTH } from "#api/bundle.ts";
import { durationSchema } from "#api/common-schema.ts";
import { TLS_LABEL } from "#api/names.ts";
import { secretName } from "#api/v1beta1/reference-schema.ts";

const PROVIDERS = ["Operator", "CertManager", "Secret", "None"] as const;
const PROVIDER =
  "Operator: from authorities of the cluster's own, which the operator makes and renews. CertManager: from an issuer of cert-manager. Secret: from Secrets that somebody else fills and renews. None: no TLS.";

/** More names than one certificate should carry; the API server needs a bound to know what a rule costs. */
const MAX_EXTRA_NAMES = 32;

const LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const DNS_NAME = `^([*][.])?${LABEL}([.]${LABEL})*$`;
const BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = `^(${BYTE}[.]){3}${BYTE}$`;
/** Whether it is one in every respect the webhook asks; so old an API server as may be has no function for it. */
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
          .describe("API group of the issuer; another one for an issuer that is no part of cert-manager."),
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
      .describe("Which issuer signs, as of a Certificate."),
  })
  .describe("Goes with provider CertManager.");

/** How long a certificate is good, where the operator asks for it. */
const life = {
  duration: durationSchema("10m", "87600h")
    .optional()
    .describe("How long a certificate is good, such as 2160h, which is what it is without it."),
  renewBefore: durationSchema("5m", "87600h")
    .optional()
    .describe("How long before its end a certificate is renewed. Without it a third of duration."),
};

const IS_ISSUED = "self.provider in ['Operator', 'CertManager']";

/** On Secrets that somebody else fills. */
const LABELLED = `the label ${TLS_LABEL}: "true"`;

/** What goes with one provider and with no other. @param side for people */
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

const peerSchema = z
  .object({
    provider: z.enum(PROVIDERS).default("Operator").describe(PROVIDER),
    certManager: certManagerSchema.optional(),
    secret: z
      .object({
        secretName: secretName.describe(
          `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: what all members show to each other, and whom they trust.`,
        ),
      })
      .optional()
      .describe("Goes with provider Secret."),
    ...life,
  })
  .meta({ "x-kubernetes-validations": providerRules("peer") })
  .describe("Between members: each shows a certificate to the others.");

const clientSchema = z
  .object({
    provider: z.enum(PROVIDERS).default("Operator").describe(PROVIDER),
    certManager: certManagerSchema.optional(),
    secret: z
      .object({
        serverSecretName: secretName.describe(
          `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: what members show to clients, and by whom clients' certificates must be signed.`,
        ),
        operatorClientSecretName: secretName.describe(
          `Secret with tls.crt, tls.key and ca.crt, and ${LABELLED}: what the operator shows to members, and by whom theirs must be signed.`,
        ),
      })
      .optional()
      .describe("Goes with provider Secret."),
    verifyClients: z
      .boolean()
      .default(true)
      .describe("Whether clients must show a certificate. false: only members show one."),
    extraNames: z
      .array(extraName)
      .max(MAX_EXTRA_NAMES)
      .optional()
      .describe(
        "Further names and IP addresses by which clients reach members, for their certificate. The names in the Kubernetes cluster and localhost are there anyway.",
      ),
    plaintextFor: durationSchema("0s", "8760h")
      .optional()
      .describe(
        "How long clients are served with TLS and without it, at the same port, when the provider changes from or to None; counted from when every member serves both. 1h without it.",
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
        message: "client.extraNames goes with the providers Operator and CertManager alone",
      },
    ],
  })
  .describe("Between members and their clients, the operator among them.");

/** What HTTP/2 allows before TLS 1.3; of what came later etcd chooses itself. https://www.rfc-editor.org/rfc/rfc7540#appendix-A */
const CIPHER_SUITES = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
] as const;

/** How members speak TLS: the same in what people ask for, and in what a member has got. */
const protocol = {
  cipherSuites: z
    .array(z.enum(CIPHER_SUITES))
    .min(1)
    .max(CIPHER_SUITES.length)
    .optional()
    .describe("Which cipher suites members take below TLS 1.3. Without it etcd's own choice."),
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
      "tls.cipherSuites is given, and tls.minVersion is TLS1.3, whose suites cannot be chosen; give only one of them",
  },
];

/** `spec.tls` of an EtcdCluster. */
export const clusterTlsSchema = z
  .object({
    peer: peerSchema.default({ provider: "Operator" }),
    client: clientSchema.default({ provider: "Operator", verifyClients: true }),
    minVersion: minVersion.default("TLS1.2").describe("The oldest version of TLS that members speak."),
    ...protocol,
  })
  .meta({ "x-kubernetes-validations": CIPHER_RULES })
  .describe(
    "How members, and their clients, know each other. A new cluster without it gets provider Operator on both sides, which the operator writes here; one that was made before, without it, is not encrypted.",
  );

/** Whether there is TLS on a side of an EtcdCluster. @param object self or oldSelf, its spec */
function anyTls(object: "self" | "oldSelf"): string {
  return `(has(${object}.tls) && (${object}.tls.peer.provider != 'None' || ${object}.tls.client.provider != 'None'))`;
}

// Why may who issues change?
//   Members come to trust both, then to show the other one, and then to drop the former one, while they speak TLS all the time.
/** Rules on the spec of an EtcdCluster that exists. */
export const TLS_STAYS = [
  {
    // Whoever replaces the object by a manifest without it does not ask for members that stop to speak TLS.
    rule: `has(self.tls) || !${anyTls("oldSelf")}`,
    message:
      "tls is missing, and was given; it must be written as it stands: of a cluster that was made without it the operator has written it, see kubectl get etcdcluster NAME -o jsonpath={.spec.tls}; kubectl apply leaves it alone",
  },
];

const side = {
  secretName: secretName.describe("Secret with tls.crt and tls.key: what the member shows."),
  trust: z
    .string()
    .min(1)
    .max(MAX_BUNDLE_LENGTH)
    .describe("The certificates, in PEM, of the authorities by which those must be signed who connect."),
  signer: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe(
      "Which of several authorities signs what the Secret holds: the SHA-256 of its certificate. Only what the operator issues, and only while one authority follows another one.",
    ),
};

/** `spec.tls` of an EtcdPeer: what a member has got of what the EtcdCluster asks for. */
export const memberTlsSchema = z
  .object({
    peer: z
      .object({
        ...side,
        scheme: z
          .enum(["http", "https"])
          .optional()
          .describe(
            "How others reach the member; https without it. http: it could speak TLS, and does so towards those that others reach by https.",
          ),
      })
      .optional()
      .describe("Towards other members. Without it nothing is encrypted there."),
    client: z
      .object({
        ...side,
        verifyClients: z.boolean().default(true).describe("Whether clients must show a certificate."),
        plaintext: z
          .boolean()
          .optional()
          .describe("Whether clients without TLS are served beside those with TLS, at the same port."),
      })
      .optional()
      .describe("Towards clients. Without it nothing is encrypted there."),
    minVersion: minVersion.optional().describe("The oldest version of TLS that the member speaks."),
    ...protocol,
  })
  .describe(
    "With which certificates the member runs. A change of trust or signer restarts it, a renewed certificate does not.",
  );
