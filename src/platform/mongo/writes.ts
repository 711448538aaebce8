/** Called when a function has written something, so that its caller knows whether it changed anything. */
export type OnWrite = () => void;

export const ignoreWrites: OnWrite = () => undefined;

/**
 * Records whether a request wrote something. A comparison with data that was read earlier would miss that somebody else
 * changed it meanwhile, and so hide that the request changed it back.
 */
export function createWrites() {
  let isAny = false;
  return {
    add: (): void => void (isAny = true),
    isNone: (): boolean => !isAny,
  };
}
