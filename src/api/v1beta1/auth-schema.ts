import { z } from "zod";

/** `spec.auth` of an EtcdCluster. */
export const authSchema = z
  .object({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        "true: whoever uses etcd must be one of its users, by a password or by the common name of a certificate. The operator makes the user root, with a password in the Secret NAME-root, and one for itself. false: it is switched off; users and roles stay.",
      ),
  })
  .describe(
    "Users and roles of etcd. It needs clients that show certificates (spec.tls.client), since by its own the operator logs in. Without it the operator neither switches it on nor off.",
  );

const VERIFIED =
  "(self.tls.client.provider != 'None' && (!has(self.tls.client.verifyClients) || self.tls.client.verifyClients))";

/** Rules on the spec of an EtcdCluster. Of one without spec.tls it is asked where it is known what that means. */
export const AUTH_NEEDS_CERTIFICATES = [
  {
    rule: `!has(self.auth) || !self.auth.enabled || !has(self.tls) || ${VERIFIED}`,
    messageExpression:
      "'auth.enabled is true, and tls.client has provider ' + self.tls.client.provider + (has(self.tls.client.verifyClients) && !self.tls.client.verifyClients ? ' and verifyClients false' : '') + '; provider must be Operator, CertManager or Secret, and verifyClients true: by its certificate the operator logs in'",
    message: "auth.enabled needs tls.client with verifyClients: by its certificate the operator logs in",
  },
];
