import { createInterface } from "node:readline/promises";
import { Exec, type V1Status } from "@kubernetes/client-node";
import { ETCD_CONTAINER } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { UsageError } from "../arguments.ts";
import type { Context, Run } from "../context.ts";
import { itemsAt, textAt, type Values } from "../fields.ts";
import { ETCD_CLUSTERS } from "../kinds.ts";
import { clean } from "../text.ts";
import { wordsIn } from "../words.ts";
import { podOf } from "./act.ts";

// Why no shell of the container?
//   etcd's image has none. Each line is a command of etcdctl, which the container's environment points at its member.

const PROGRAM = "etcdctl";

/** Runs one command of etcdctl in the leader's container, or one for each line of standard input. */
export const shell: Run = async (context) => {
  const name = context.input.names[0] ?? "";
  const member = memberIn(await clusterIn(context));
  const pod = await podOf(context, name, member);
  const { rest } = context.input;
  if (rest.length > 0)
    return await runIn(context, pod, rest[0] === PROGRAM ? rest : [PROGRAM, ...rest], process.stdin.isTTY !== true);
  context.warn(`Commands of etcdctl in ${member}, such as: member list -w table. The end: exit\n`);
  const input = createInterface({ input: process.stdin, output: context.isTerminal ? process.stdout : undefined });
  let code = 0;
  input.setPrompt(`${name}> `);
  if (context.isTerminal) input.prompt();
  for await (const line of input) {
    const words = wordsIn(line);
    if (typeof words === "string") context.warn(`${words}\n`);
    else if (words[0] === "exit" || words[0] === "quit") break;
    else if (words.length > 0)
      code = await runIn(context, pod, words[0] === PROGRAM ? words : [PROGRAM, ...words], false);
    if (context.isTerminal) input.prompt();
  }
  input.close();
  return code;
};

/** Moves the leader to a member, by etcdctl in the container of the present leader. */
export const leader: Run = async (context) => {
  const [name = "", member = ""] = context.input.names;
  const cluster = await clusterIn(context);
  const now = textAt(cluster, "status", "leader");
  if (now === member) {
    context.write(`${member} leads already.\n`);
    return 0;
  }
  const wanted = itemsAt(cluster, "status", "members").find((each) => textAt(each, "name") === member);
  const [role, health] = [textAt(wanted, "role"), textAt(wanted, "health")];
  if (now === "" || role !== "Voter" || health !== "Healthy")
    throw new UsageError(
      `${member} cannot lead ${name}: ${now === "" ? "the cluster has no leader" : `in its status the member is ${wanted === undefined ? "missing" : `a ${role} and ${health}`}; it must be a Voter and Healthy`}.`,
    );
  const command = [PROGRAM, "move-leader", "--", textAt(wanted, "id")];
  return await runIn(context, await podOf(context, name, now), command, false);
};

async function clusterIn(context: Context): Promise<Values> {
  const { client, namespace } = context.connect();
  const at = { namespace, name: context.input.names[0] ?? "" };
  return (await client.get(ETCD_CLUSTERS, at, { signal: context.signal })) as unknown as Values;
}

/** The leader, or else a healthy member. @throws OperatorError when there is none */
function memberIn(cluster: Values): string {
  const leader = textAt(cluster, "status", "leader");
  const healthy = itemsAt(cluster, "status", "members").find((each) => textAt(each, "health") === "Healthy");
  const member = leader || textAt(healthy, "name");
  if (member === "")
    throw new OperatorError("KubeUnavailable", "The status of the EtcdCluster names no healthy member.");
  return member;
}

/** Runs a command in the container of etcd. @returns its exit code */
async function runIn(context: Context, pod: string, command: readonly string[], hasInput: boolean): Promise<number> {
  const { config, namespace } = context.connect();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = await new Exec(config)
    .exec(
      namespace,
      pod,
      ETCD_CONTAINER,
      [...command],
      process.stdout,
      process.stderr,
      hasInput ? process.stdin : null,
      false,
      (status) => {
        const code = exitCodeIn(status);
        if (code === undefined) reject(new UsageError(`The command was not run: ${clean(status.message)}`));
        else resolve(code);
      },
    )
    .catch((thrown: unknown) => {
      // The library throws the event of a WebSocket, which has the answer's status in its message.
      const message = clean((thrown as { message?: unknown }).message) || "no connection";
      throw new OperatorError(
        "KubeUnavailable",
        `A command in pod ${pod} needs the right to create pods/exec, and a connection: ${message}`,
      );
    });
  socket.on("close", () => reject(new OperatorError("KubeUnavailable", "The connection ended before the command.")));
  context.signal.addEventListener("abort", () => socket.close(), { once: true });
  return await promise;
}

/** Exit code of the command; undefined when it did not run. */
function exitCodeIn({ status, details }: V1Status): number | undefined {
  if (status === "Success") return 0;
  const cause = details?.causes?.find(({ reason }) => reason === "ExitCode");
  return cause?.message === undefined ? undefined : Number(cause.message);
}
