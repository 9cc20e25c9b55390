import { createInterface } from "node:readline/promises";
import { Failure } from "./failure.ts";
import type { Kubectl } from "./kubectl.ts";

/** The cluster in a kubeconfig's current context. */
export interface Target {
  readonly context: string;
  readonly server: string;
}

interface KubeconfigView {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly cluster?: { readonly server?: string } }[] | null;
}

/** Reads the current context, without a request to its server. @throws Failure when there is none */
export async function targetOf(kubectl: Kubectl): Promise<Target> {
  const view = await kubectl.json<KubeconfigView>(["config", "view", "--minify"]);
  const context = view["current-context"] ?? "";
  const server = view.clusters?.[0]?.cluster?.server;
  if (context !== "" && server !== undefined) return { context, server };
  throw new Failure(
    "--kubeconfig: the file has no current context with a server. To set one: kubectl config use-context NAME",
  );
}

export interface Terminal {
  /** Whether a person can answer. */
  readonly isInteractive: boolean;
  ask(question: string): Promise<string>;
}

export const TERMINAL: Terminal = {
  isInteractive: process.stdin.isTTY === true && process.stdout.isTTY === true,
  async ask(question) {
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return await lines.question(question);
    } finally {
      lines.close();
    }
  },
};

/** Loopback hosts, where kind's API servers listen. */
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Whether the target is kind's cluster on this machine. Loopback alone proves nothing: a tunnel may lead to any
 * cluster.
 */
export function isKinds({ context, server }: Target): boolean {
  return context.startsWith("kind-") && URL.canParse(server) && LOOPBACK.includes(new URL(server).hostname);
}

/**
 * Asks the user before changes to a cluster that is not kind's.
 * @param isYes whether `--yes` was given
 * @throws Failure when the answer is not yes, or the terminal is not interactive
 */
export async function needConsent(target: Target, isYes: boolean, terminal: Terminal): Promise<void> {
  if (isYes || isKinds(target)) return;
  const where = `context "${target.context}", server ${target.server}`;
  if (!terminal.isInteractive) {
    throw new Failure(
      `npm start would install the operator in ${where}. Nothing was changed: give --yes, or run it in a terminal.`,
    );
  }
  const question = `The operator will be installed or upgraded in ${where}. Go on? [y/N] `;
  const answer = (await terminal.ask(question)).trim().toLowerCase();
  if (!["y", "yes"].includes(answer)) throw new Failure("Nothing was changed.");
}
