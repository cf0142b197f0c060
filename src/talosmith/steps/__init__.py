"""The verbs that operations share. Only here, through the clients, is anything changed."""
