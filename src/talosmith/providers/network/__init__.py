"""Who answers in the network: for providers whose machines get their first address by DHCP."""
