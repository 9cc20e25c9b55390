import { StoreError } from "./error.ts";

// Why may `ca.crt`, a proxy and the pod's identity not be used together?
//   The author of an EtcdBackup chooses the proxy, and the author of the Secret the CA. Together they could read the
//   identity's token on its way, and use it for anything that the identity may do. The identity is for backups only.

/** Refuses a CA of a Secret when the pod's identity would be used through a proxy. @throws StoreError */
export function checkIdentityPath(ca: string | undefined): void {
  if (ca === undefined || (process.env.HTTPS_PROXY || process.env.https_proxy || "") === "") return;
  throw new StoreError(
    "WrongCredentials",
    "the Secret with the credentials has ca.crt, and the pod's identity is used through a proxy. With that CA the proxy could read the identity's token. Leave out ca.crt or the proxy, or put keys into the Secret",
  );
}
