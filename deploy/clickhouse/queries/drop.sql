-- Parameters: {table}, a name; {cluster}, a text; {partition}, a number.
ALTER TABLE {table} ON CLUSTER {cluster} DROP PARTITION {partition}
