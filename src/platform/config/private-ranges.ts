import ipaddr from 'ipaddr.js';

/** Private networks: RFC 1918, shared address space (RFC 6598) and unique local IPv6 addresses. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'].map((range) =>
  ipaddr.parseCIDR(range),
);
/** Cloud metadata services with private addresses. They give credentials to any client. */
const METADATA = ['100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'].map((address) => ipaddr.parse(address));

/** Whether a CIDR range lies within one private network and contains no cloud metadata service. */
export function isPrivateRange(cidr: string): boolean {
  const range = ipaddr.parseCIDR(cidr);
  const [first, bits] = range;
  const within = PRIVATE.some(
    ([base, length]) => base.kind() === first.kind() && bits >= length && first.match([base, length]),
  );
  return within && !METADATA.some((address) => address.kind() === first.kind() && address.match(range));
}
