/** Lets one stream of a call at a time arrive. Until its socket has started or closed, others of the call must not. */
export function createArrivals() {
  const arriving = new Set<string>();

  return {
    /** Returns the arrival of one stream of a call. */
    of(callId: string) {
      let hasBegun = false;
      return {
        /** Begins the arrival once the stream's signature is valid. Returns false if another stream is arriving. */
        begin: (): boolean => {
          if (arriving.has(callId)) return false;
          arriving.add(callId);
          hasBegun = true;
          return true;
        },
        /** Ends the arrival. Does nothing if it has not begun, or has ended. */
        end: (): void => {
          if (hasBegun) arriving.delete(callId);
          hasBegun = false;
        },
      };
    },
  };
}
