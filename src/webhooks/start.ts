import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { KubeClient } from "#kube/client.ts";
import { CertificateKeeper } from "#webhooks/certificate/keeper.ts";
import { clusterAdmission } from "#webhooks/cluster-admission.ts";
import { conversion } from "#webhooks/conversion.ts";
import { ConversionThread } from "#webhooks/conversion-thread.ts";
import { BUNDLE_HOLDERS } from "#webhooks/holders.ts";
import { type ServingCertificate, serveWebhooks } from "#webhooks/server.ts";

export interface Webhooks {
  /** The port of the webhook server. */
  readonly port: number;
  /** Why the webhooks cannot be called, in one sentence; undefined when they can. */
  fault(): string | undefined;
  /** Keeps the certificate up to date until the signal aborts. Never throws. */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves every webhook of the operator.
 * @throws the system's error when the port is taken
 */
export async function startWebhooks(options: {
  /** 0 lets the system choose. */
  readonly port: number;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly imageRepository: string;
  /** Used only for changes that do not need the lease. */
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once per request. @param code HTTP status in digits */
  readonly observe: (path: string, code: string) => void;
  /** Whether this process leads, or cannot know whether another process does. */
  readonly mayWrite: () => boolean;
  /** Whether the caches of this process are not synced yet. */
  readonly isStarting?: () => boolean;
  /** Called with each new certificate, for another server that uses it. */
  readonly alsoShow?: (serving: ServingCertificate) => void;
}): Promise<Webhooks> {
  const { port, kube, imageRepository, clock, log, observe } = options;
  const thread = new ConversionThread(log);
  const webhooks = [
    clusterAdmission({ kube, imageRepository, clock, log }),
    conversion((...question) => thread.answer(...question)),
  ];
  const server = await serveWebhooks({ port, webhooks, log, observe });
  log.info({ address: `:${server.port}` }, "serves webhooks");
  const show = (serving: ServingCertificate): void => {
    server.use(serving);
    options.alsoShow?.(serving);
  };
  const keeper = new CertificateKeeper({ ...options, holders: BUNDLE_HOLDERS, show });
  return {
    port: server.port,
    fault: () => keeper.fault,
    run: (signal) => keeper.run(signal),
    async close() {
      await server.close();
      await thread.close();
    },
  };
}
