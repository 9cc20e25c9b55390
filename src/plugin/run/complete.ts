import { ordinalOf } from "#api/names.ts";
import { resource } from "#kube/kinds.ts";
import { completionScript, offersFor, type Shell } from "../completion.ts";
import { type Connection, contextsOf } from "../connect.ts";
import type { Run } from "../context.ts";
import { nameOf } from "../fields.ts";
import { ETCD_BACKUPS, ETCD_CLUSTERS, ETCD_PEERS, ETCD_USERS } from "../kinds.ts";
import { those } from "../picture.ts";
import { Reader } from "../read.ts";

/** Time for the names of objects, in milliseconds: a person waits for them with a half-typed word. */
const WITHIN_MS = 2_000;

const NAMESPACES = resource({ group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });

export const completion: Run = (context) => {
  context.write(completionScript(context.input.names[0] as Shell));
  return Promise.resolve(0);
};

/**
 * Lines that may end the command line. Errors are silent, since the person is still typing.
 * @param words after the program's name; the last one may be empty
 */
export async function completions(
  words: readonly string[],
  connect: (flags: Readonly<Record<string, string>>) => Connection,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const typed = words.map((word) => (word === '""' ? "" : word));
  const { words: offered, names } = offersFor(typed);
  const flags = flagsIn(typed);
  const found =
    names === undefined ? [] : await namesOf(names, typed, () => connect(flags), flags, env).catch(() => []);
  const last = typed.at(-1) ?? "";
  return [...offered, ...found].filter((each) => each.startsWith(last)).sort();
}

async function namesOf(
  kind: NonNullable<ReturnType<typeof offersFor>["names"]>,
  words: readonly string[],
  connect: () => Connection,
  flags: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  if (kind === "context") return contextsOf(flags, env);
  const { client, namespace } = connect();
  const reader = new Reader(client, AbortSignal.timeout(WITHIN_MS));
  const kinds = {
    cluster: ETCD_CLUSTERS,
    member: ETCD_PEERS,
    user: ETCD_USERS,
    backup: ETCD_BACKUPS,
    namespace: NAMESPACES,
  };
  const many = await reader.many(kinds[kind], kind === "namespace" ? {} : { namespace });
  const names = those(many).map(nameOf);
  return kind === "member" ? names.filter((name) => words.some((word) => ordinalOf(word, name) !== undefined)) : names;
}

/** Values of the flags that choose the cluster of Kubernetes and the namespace. */
function flagsIn(words: readonly string[]): Readonly<Record<string, string>> {
  const long: Readonly<Record<string, string>> = {
    "-n": "namespace",
    "--namespace": "namespace",
    "--context": "context",
    "--kubeconfig": "kubeconfig",
  };
  const pairs = words.flatMap((word, n): (readonly [string, string])[] => {
    const [flag = "", value] = word.split("=");
    const [name, given] = [long[flag], value ?? words[n + 1]];
    return name === undefined || given === undefined || n === words.length - 1 ? [] : [[name, given]];
  });
  return Object.fromEntries(pairs);
}
