import { z } from "zod";

/** `spec.auth` of an EtcdCluster. */
export const authSchema = z
  .object({
    enabled: z
      .boolean()
      .describe(
        "Whether clients must log in to etcd, by a password or by the common name of a certificate. When true, the operator makes the user root, with a password in the Secret NAME-root, and a user for itself. When false, authentication is disabled; users and roles stay.",
      ),
  })
  .describe(
    "Authentication in etcd. It needs client certificates (spec.tls.client), because the operator logs in with its own. Without spec.auth the operator neither enables nor disables authentication.",
  );

const VERIFIED =
  "(self.tls.client.provider != 'None' && (!has(self.tls.client.clientCertificates) || self.tls.client.clientCertificates == 'Required'))";

/**
 * Rules on the spec of an EtcdCluster. The webhook checks a spec without spec.tls, because its meaning depends on the
 * cluster.
 */
export const AUTH_NEEDS_CERTIFICATES = [
  {
    rule: `!has(self.auth) || !self.auth.enabled || !has(self.tls) || ${VERIFIED}`,
    messageExpression:
      "'auth.enabled is true, and tls.client has provider ' + self.tls.client.provider + (has(self.tls.client.clientCertificates) && self.tls.client.clientCertificates != 'Required' ? ' and clientCertificates ' + self.tls.client.clientCertificates : '') + '; provider must be Operator, CertManager or Secret, and clientCertificates Required, because the operator logs in with its certificate'",
    message:
      "auth.enabled needs tls.client with clientCertificates Required, because the operator logs in with its certificate",
  },
];
