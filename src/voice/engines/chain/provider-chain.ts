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
}

/** The attempts of one piece of work, such as one reply. */
export interface Attempts<T> {
  /** The provider of the present attempt. */
  provider(): Provider<T>;
  /**
   * Records that the present attempt failed, and chooses the provider of the next one.
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
  const tried = new Set<Provider<T>>();
  useInstead(choose(tried) ?? current);

  /** The first healthy provider that was not tried; if there is none, the first one that was not tried. */
  function choose(excluded: ReadonlySet<Provider<T>>): Provider<T> | undefined {
    const left = [current, ...providers.filter((provider) => provider !== current)].filter(
      (provider) => !excluded.has(provider),
    );
    return left.find((provider) => !health.isOpen(provider)) ?? left[0];
  }

  function useInstead(next: Provider<T>, fault?: Fault): void {
    if (next === current) return;
    const from = current;
    current = next;
    handlers.onSwitched({ from, to: next, ...(fault === undefined ? {} : { fault }) });
  }

  return {
    current: () => current,
    begin: () => createAttempts({ ...p, choose, useInstead }),
  };
}

function createAttempts<T>(p: {
  providers: readonly Provider<T>[];
  health: ProviderHealth;
  handlers: ChainHandlers;
  retryAfterMs: number;
  choose(tried: ReadonlySet<Provider<T>>): Provider<T> | undefined;
  useInstead(next: Provider<T>, fault?: Fault): void;
}): Attempts<T> {
  const { health } = p;
  const tried = new Set<Provider<T>>();
  let provider = p.choose(tried) as Provider<T>;
  let failures = 0;
  p.useInstead(provider);
  health.record(provider, 'tried');

  return {
    provider: () => provider,
    failed(fault) {
      health.record(provider, 'failed');
      failures += 1;
      if (p.providers.length === 1) return failures > 1 ? undefined : (fault.retryAfterMs ?? p.retryAfterMs);
      tried.add(provider);
      const next = p.choose(tried);
      if (next === undefined) return undefined;
      provider = next;
      p.useInstead(next, fault);
      health.record(next, 'tried');
      return 0;
    },
    succeeded() {
      health.record(provider, 'succeeded');
      tried.clear();
      failures = 0;
      p.handlers.onServed(provider);
    },
  };
}
