import dns from "node:dns";
import { vi } from "vitest";

const lookup = dns.lookup as (...args: unknown[]) => void;

/** Leads these names of hosts to an address of loopback in this process, until vitest restores its mocks. */
export function leadTo(address: string, hosts: readonly string[]): void {
  const led = (host: string, ...rest: unknown[]) => lookup(hosts.includes(host) ? address : host, ...rest);
  vi.spyOn(dns, "lookup").mockImplementation(led as never);
}
