import { readFileSync } from "node:fs";
import type { UserCluster } from "#kit/e2e.ts";
import type { Credentials, Login } from "#kit/password-client.ts";
import { secretTexts } from "#kit/user-tls.ts";

/** By name and password in a Secret, as whoever may read Secrets sees it. */
export function loginBySecret(cluster: UserCluster, secretName: string): Login {
  let reading: Promise<Credentials> | undefined;
  const read = async () => {
    const { username: name = "", password = "" } = await secretTexts(cluster, secretName);
    return { name, password };
  };
  const credentials = () => {
    // Clients that are refused at the same time are told the same.
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return { credentials, logins: 0, refusedPasswords: 0 };
}

/** The same as the kubelet has brought it into a pod by now. @param pid of a process in it, see idle-pod.ts */
export function loginByMount(pid: number, folder: string): Login {
  const text = (file: string) => readFileSync(`/proc/${pid}/root${folder}/${file}`, "utf8");
  const credentials = () => Promise.resolve({ name: text("username"), password: text("password") });
  return { credentials, logins: 0, refusedPasswords: 0 };
}
