import { run } from "#dev/run.ts";

// Counts new connections in the kernel, by their first packet. The nodes of the local Kubernetes share one network, in
// which the tests run, too. So packets between pods are forwarded here, and those of a kubelet are sent from here.

/** Connections to count, under a name. */
export interface Counted {
  readonly name: string;
  /** Addresses of pods; a kubelet has none of these. */
  readonly from: readonly string[] | "kubelet";
  readonly to: readonly string[];
  readonly port: number;
}

/** Counts from its start until it is disposed of. */
export class ConnectionCount implements AsyncDisposable {
  readonly #table: string;

  /** @param name unique among concurrent counts */
  static async start(name: string, counted: readonly Counted[]): Promise<ConnectionCount> {
    const table = `connections-${name}`;
    const rule = ({ name: label, from, to, port }: Counted) =>
      `${from === "kubelet" ? "" : `ip saddr ${setOf(from)} `}ip daddr ${setOf(to)} tcp dport ${port} tcp flags & (syn | ack) == syn counter comment "${label}"`;
    const chain = (hook: string, some: readonly Counted[]) =>
      `chain ${hook} { type filter hook ${hook} priority 20;\n${some.map(rule).join("\n")}\n}`;
    const forwarded = chain(
      "forward",
      counted.filter(({ from }) => from !== "kubelet"),
    );
    const sent = chain(
      "output",
      counted.filter(({ from }) => from === "kubelet"),
    );
    await run("nft", ["-f", "-"], { input: `table ip ${table} {\n${forwarded}\n${sent}\n}\n` });
    return new ConnectionCount(table);
  }

  private constructor(table: string) {
    this.#table = table;
  }

  /** Counts so far, by name. A repeated first packet counts again. */
  async opened(): Promise<Readonly<Record<string, number>>> {
    const { stdout } = await run("nft", ["--json", "list", "table", "ip", this.#table]);
    const { nftables } = JSON.parse(stdout) as { nftables: readonly { rule?: Rule }[] };
    const rules = nftables.flatMap(({ rule }) => rule ?? []);
    return Object.fromEntries(
      rules.map(({ comment, expr }) => [comment, expr.find(({ counter }) => counter)?.counter?.packets ?? 0]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("nft", ["delete", "table", "ip", this.#table]);
  }
}

interface Rule {
  readonly comment: string;
  readonly expr: readonly { readonly counter?: { readonly packets: number } }[];
}

function setOf(addresses: readonly string[]): string {
  return `{ ${addresses.join(", ")} }`;
}
