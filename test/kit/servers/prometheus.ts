import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { ensureComponents } from "#dev/components.ts";
import { startStoreServer, temporaryDir } from "./store-server.ts";

/** What Prometheus scrapes: a job of its configuration, without the times. */
export interface Job {
  readonly job_name: string;
  readonly static_configs: readonly { readonly targets: readonly string[]; readonly labels?: object }[];
  readonly [option: string]: unknown;
}

/** A series, by its labels. */
export type Labels = Readonly<Record<string, string>>;

/** A Prometheus on loopback that scrapes and evaluates every second. */
export interface Prometheus {
  /** Labels of each series that answers the query now. @throws Error when Prometheus refuses the query */
  query(expr: string): Promise<readonly Labels[]>;
  /** Names of the alerts that fire now. */
  firing(): Promise<ReadonlySet<string>>;
  /** Scrapes these jobs from now on. */
  scrape(jobs: readonly Job[]): Promise<void>;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly { readonly metric: Labels }[] };
}

/** @param groups of rules, as in a file of rules */
export async function startPrometheus(groups: readonly object[], jobs: readonly Job[]): Promise<Prometheus> {
  const { prometheus } = await ensureComponents(["prometheus"], (_sentence, work) => work(() => {}));
  const home = temporaryDir("prometheus");
  const config = join(home, "prometheus.yaml");
  writeFileSync(join(home, "rules.yaml"), stringify({ groups }));
  const configure = (scraped: readonly Job[]): void => {
    const every = { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" };
    writeFileSync(config, stringify({ global: every, rule_files: ["rules.yaml"], scrape_configs: scraped }));
  };
  configure(jobs);
  const server = await startStoreServer((port) => [
    prometheus,
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(home, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--web.enable-lifecycle",
    // Prometheus shows the last value of a target that it no longer scrapes for this long; by default five minutes.
    "--query.lookback-delta=15s",
  ]);
  const base = `http://127.0.0.1:${server.port}`;
  const query = async (expr: string): Promise<readonly Labels[]> => {
    const answer = await fetch(`${base}/api/v1/query`, { method: "POST", body: new URLSearchParams({ query: expr }) });
    const { status, error, data } = (await answer.json()) as Answer;
    if (status !== "success" || data === undefined) throw new Error(`${expr}: ${error}`);
    return data.result.map(({ metric }) => metric);
  };
  return {
    query,
    async firing() {
      const alerts = await query('ALERTS{alertstate="firing"}');
      return new Set(alerts.map(({ alertname = "" }) => alertname));
    },
    async scrape(scraped) {
      configure(scraped);
      const { status } = await fetch(`${base}/-/reload`, { method: "POST" });
      if (status !== 200) throw new Error(`Prometheus did not read its configuration again: ${status}`);
    },
    async stop() {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
