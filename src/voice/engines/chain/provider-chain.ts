import type { FailureReport } from '../../models/failure-report.js';
import { blameOf, type Blame } from './blame.js';
import type { ProviderHealth, ProviderId } from './provider-health.js';

/** A provider of one stage, with the interface to it. */
export interface Provider<T> extends ProviderId {
  /** The provider's protocol, such as `deepgram`. */
  name: string;
  model: string;
  port: T;
}

interface Fault {
  message: string;
  retryAfterMs?: number | undefined;
  report?: FailureReport;
  /** The cause, if the report does not name it. */
  blame?: Blame;
}

/** The attempts of one piece of work, such as one reply. */
export interface Attempts<T> {
  /** The provider of the present attempt. */
  provider(): Provider<T>;
  /**
   * Records that the present attempt failed, and chooses the provider of the next one. A failure that this call caused
   * by its request does not count for other calls. The others count for other accounts only if they happen in one call
   * after the other.
   * @returns how long to wait before the next attempt, in ms; undefined if none is left
   */
  failed(fault: Fault): number | undefined;
  /** Records that the present attempt succeeded. After that, every provider may be tried again. */
  succeeded(): void;
}

export interface ProviderChain<T> {
  /** The provider that new work begins with. */
  current(): Provider<T>;
  begin(): Attempts<T>;
}

export interface ChainHandlers {
  /** Called when the call continues with another provider. `fault` is absent if the first one is skipped as unhealthy. */
  onSwitched(change: { from: ProviderId; to: Provider<unknown>; fault?: Fault }): void;
  onServed(provider: Provider<unknown>): void;
}

/**
 * The providers of one stage of a call, in order. A call that has left a provider stays with the next one, so that the
 * agent's voice does not change to and fro. Without alternatives, the same provider is tried twice.
 * @param p.retryAfterMs pause before the second attempt with the same provider
 */
export function createProviderChain<T>(p: {
  providers: readonly [Provider<T>, ...Provider<T>[]];
  health: ProviderHealth;
  handlers: ChainHandlers;
  retryAfterMs: number;
}): ProviderChain<T> {
  const { providers, health, handlers } = p;
  let current = providers[0];
  /** The provider that this call tries again for all calls. Until it fails, the call stays with it. */
  let onTrial: Provider<T> | undefined;
  useInstead(choose(new Set()) ?? current);

  /** The first healthy provider that was not tried; if there is none, the first one that was not tried. */
  function choose(excluded: ReadonlySet<Provider<T>>): Provider<T> | undefined {
    const left = [current, ...providers.filter((provider) => provider !== current)].filter(
      (provider) => !excluded.has(provider),
    );
    return left.find((provider) => provider === onTrial || !health.isOpen(provider)) ?? left[0];
  }

  function useInstead(next: Provider<T>, fault?: Fault): void {
    if (next === current) return;
    const from = current;
    current = next;
    handlers.onSwitched({ from, to: next, ...(fault === undefined ? {} : { fault }) });
  }

  function startTrial(provider: Provider<T>): void {
    // Further requests of the call are part of the same trial.
    if (provider === onTrial) return;
    health.record(provider, 'tried');
    if (health.isOpen(provider)) onTrial = provider;
  }

  function endTrial(provider: Provider<T>): void {
    if (provider === onTrial) onTrial = undefined;
  }

  return {
    current: () => current,
    begin: () => createAttempts({ ...p, choose, useInstead, startTrial, endTrial }),
  };
}

function createAttempts<T>(p: {
  providers: readonly Provider<T>[];
  health: ProviderHealth;
  handlers: ChainHandlers;
  retryAfterMs: number;
  choose(tried: ReadonlySet<Provider<T>>): Provider<T> | undefined;
  useInstead(next: Provider<T>, fault?: Fault): void;
  /** Records that a request is sent. */
  startTrial(provider: Provider<T>): void;
  endTrial(provider: Provider<T>): void;
}): Attempts<T> {
  const { health } = p;
  const tried = new Set<Provider<T>>();
  let provider = p.choose(tried) as Provider<T>;
  let failures = 0;
  p.useInstead(provider);
  p.startTrial(provider);

  return {
    provider: () => provider,
    failed(fault) {
      recordFault(health, provider, fault);
      p.endTrial(provider);
      failures += 1;
      if (p.providers.length === 1) return failures > 1 ? undefined : (fault.retryAfterMs ?? p.retryAfterMs);
      tried.add(provider);
      const next = p.choose(tried);
      if (next === undefined) return undefined;
      provider = next;
      p.useInstead(next, fault);
      p.startTrial(next);
      return 0;
    },
    succeeded() {
      health.record(provider, 'succeeded');
      p.endTrial(provider);
      tried.clear();
      failures = 0;
      p.handlers.onServed(provider);
    },
  };
}

/** Records what a failure says about a provider. @param health as the call reports it */
export function recordFault(
  health: ProviderHealth,
  id: ProviderId,
  { blame, report = {} }: Pick<Fault, 'blame' | 'report'>,
): void {
  const cause = blame ?? blameOf(report);
  if (cause !== 'request') health.record(id, cause === 'unclear' ? 'rejected' : 'failed');
  // A trial that gets an answer shows that the provider works again.
  else if (health.isOpen(id)) health.record(id, 'succeeded');
}
