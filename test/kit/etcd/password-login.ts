import { readFileSync } from "node:fs";
import type { UserCluster } from "#kit/e2e/e2e.ts";
import type { Credentials, Login } from "#kit/e2e/password-client.ts";
import { secretTexts } from "#kit/e2e/user-tls.ts";

/** Logs in with the name and password in a Secret, read through the API server. */
export function loginBySecret(cluster: UserCluster, secretName: string): Login {
  let reading: Promise<Credentials> | undefined;
  const read = async () => {
    const { username: name = "", password = "" } = await secretTexts(cluster, secretName);
    return { name, password };
  };
  const credentials = () => {
    // Clients that are refused at the same time share one read.
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return { credentials, logins: 0, refusedPasswords: 0 };
}

/**
 * Logs in with the name and password in a Secret that is mounted into a pod.
 * @param pid of a process in the pod, see idle-pod.ts
 */
export function loginByMount(pid: number, folder: string): Login {
  const text = (file: string) => readFileSync(`/proc/${pid}/root${folder}/${file}`, "utf8");
  const credentials = () => Promise.resolve({ name: text("username"), password: text("password") });
  return { credentials, logins: 0, refusedPasswords: 0 };
}
