/** Counts the resources that keep this process running. A loopback socket counts twice, once for each end. */
export async function openResources(): Promise<{ timers: number; sockets: number }> {
  // Lets the timer of the code that called this function expire first.
  await new Promise((resolve) => setImmediate(resolve));
  const names = process.getActiveResourcesInfo();
  return {
    timers: names.filter((kind) => kind === 'Timeout').length,
    sockets: names.filter((kind) => kind === 'TCPSocketWrap' || kind === 'TLSWrap').length,
  };
}
